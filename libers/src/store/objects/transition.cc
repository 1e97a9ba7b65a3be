#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "store/blocks/dropping.h"
#include "store/blocks/object_placement.h"
#include "store/blocks/object_reader.h"
#include "store/blocks/object_writer.h"
#include "store/commit/change.h"
#include "store/commit/current.h"
#include "store/commit/planned_groups.h"
#include "store/membership/view_changer.h"
#include "store/objects/destination.h"
#include "store/objects/in_place.h"
#include "store/objects/packed_value.h"
#include "store/objects/store.h"
#include "store/support/content.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

constexpr ChangeTerms kAlsoOfPack{.of_pack = true};

Status NoSuchWidth(const Scheme& scheme) {
  if (!scheme.elastic()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("scheme {} has one width only: name an elastic scheme "
                        "to go to",
                        FormatScheme(scheme))};
  }
  std::vector<int> widths;
  for (const Width width : WidthsOf(scheme)) {
    widths.push_back(StripeDataBlocks(scheme, width));
  }
  return {StatusCode::kInvalidArgument,
          fmt::format("scheme {} has no such width: go to narrow, wide, or one "
                      "of {}",
                      FormatScheme(scheme), fmt::join(widths, ", "))};
}

Result<Destination> Resolve(const Manifest& base,
                            const TransitionTarget& target) {
  const std::optional<Destination> named = DestinationOf(base, target);
  if (!named) return Fail(NoSuchWidth(target.scheme.value_or(base.scheme)));
  const Destination& to = *named;
  const Status valid = ValidateStoredScheme(to.scheme);
  if (!valid.ok()) return Fail(valid);
  if (IsThere(base, to)) {
    return Fail(StatusCode::kAlreadyThere,
                fmt::format("key '{}' is {} {} already", base.key,
                            FormatScheme(base.scheme),
                            WidthName(base.scheme, base.width)));
  }
  return to;
}

// A stored object as the content of another: read ahead of the writer, group
// by group.
class ObjectContent final : public Content {
 public:
  ObjectContent(Session& session, const ObjectMap& map, StepTimer* steps)
      : session_(session), steps_(steps), map_(map) {}

  Result<std::span<const std::byte>> Open(std::size_t max_bytes) override {
    return parts_.Open(std::min(max_bytes, *Left()));
  }
  Task<Result<std::size_t>> Fill() override {
    Value& part = parts_.newest();
    const ReadOutcome read = co_await ReadRange(
        session_, map_, offset_, part.size(), part.data(), steps_);
    traffic_ += read.traffic;
    degraded_ |= read.degraded;
    if (!read.status.ok()) co_return Fail(read.status);
    offset_ += part.size();
    co_return part.size();
  }
  std::optional<std::uint64_t> Left() const override {
    return map_.manifest().length - offset_;
  }
  void Release() override { parts_.Release(); }
  const BlockTraffic& traffic() const { return traffic_; }
  bool degraded() const { return degraded_; }

 private:
  Session& session_;
  StepTimer* const steps_;
  const ObjectMap& map_;
  std::uint64_t offset_ = 0;
  bool degraded_ = false;
  PartBuffers parts_;
  BlockTraffic traffic_;
};

Task<Status> Reencode(Session& session, const ObjectMap& map,
                      std::size_t column_below, Manifest& next,
                      BlockTraffic& traffic, StepTimer* steps) {
  // Nothing of the new form is there yet: a process that drops it must find
  // that.
  next.length = 0;
  next.data = GenerationMap();
  next.parity = GenerationMap();
  Status placed =
      PlaceObject(session, next, map.manifest().length, column_below);
  if (!placed.ok()) co_return placed;
  ObjectContent content(session, map, steps);
  WriteOutcome outcome = co_await WriteGroups(session, content, 0, next, steps);
  traffic += content.traffic();
  traffic += outcome.traffic;
  session.counters().degraded_reads.Add(content.degraded());
  co_await MarkFailed(session, outcome.epoch,
                      std::move(outcome.failed_members));
  co_return outcome.status;
}

// Wider than `from`, of the same scheme?
bool IsWider(const Scheme& scheme, Width from, Width to) {
  return to == Width::kWide ||
         StripeDataBlocks(scheme, to) > StripeDataBlocks(scheme, from);
}

TransitionKind KindOf(TransitionPath path, Width from, const Manifest& next) {
  if (path == TransitionPath::kReencode) return TransitionKind::kReencode;
  if (path == TransitionPath::kParity) return TransitionKind::kParity;
  return IsWider(next.scheme, from, next.width) ? TransitionKind::kWiden
                                                : TransitionKind::kNarrow;
}

void CountTraffic(const BlockTraffic& traffic, TransitionCounters& counters) {
  counters.data_reads.Add(traffic.data_reads);
  counters.parity_reads.Add(traffic.parity_reads);
  counters.writes.Add(traffic.writes);
  counters.bytes_read.Add(traffic.bytes_read);
  counters.bytes_written.Add(traffic.bytes_written);
}

// A pack keeps the scheme that it was made with.
Task<Result<ManifestPtr>> ToMove(Session& session, ManifestPtr base,
                                 const Destination& to, StepTimer* steps) {
  if (to.scheme == base->scheme) {
    return Task<Result<ManifestPtr>>::Ready(std::move(base));
  }
  return Unpacked(session, std::move(base), steps);
}

// Stages what the new form needs.
Task<Status> StageNewForm(Session& session, const ManifestPtr& base,
                          TransitionVariant variant, std::size_t column_below,
                          Manifest& next, TransitionInfo& info,
                          StepTimer* steps) {
  if (base->is_inline) co_return CheckServers(session, next.scheme);
  PlannedOutcome outcome;
  if (info.path == TransitionPath::kReencode) {
    const ObjectMap map(base);
    outcome.status = co_await Reencode(session, map, column_below, next,
                                       outcome.traffic, steps);
  } else {
    outcome = co_await StageInPlace(session, base, variant, next, steps);
  }
  const BlockTraffic& traffic = outcome.traffic;
  CountTraffic(traffic,
               session.counters().of(KindOf(info.path, base->width, next)));
  static_cast<BlockTraffic&>(info) = traffic;
  co_return outcome.status;
}

}  // namespace

Task<Result<TransitionInfo>> Store::Transition(std::string_view key,
                                               const TransitionTarget& target,
                                               TransitionVariant variant) {
  const net::TimePoint start = session_.runtime().Now();
  CurrentManifest current(session_, key, steps_, kNoBump, kAlsoOfPack);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return Fail(std::move(status));
  for (;;) {
    Result<ManifestPtr> base = co_await current.Next();
    if (!base) co_return Fail(base.error());
    const Result<Destination> to = Resolve(**base, target);
    if (!to) {
      if (current.remembered()) continue;
      co_return Fail(to.error());
    }
    TransitionInfo info;
    info.path = PathTo(**base, *to);
    if (variant == TransitionVariant::kNoOrder &&
        info.path == TransitionPath::kPlan &&
        IsWider(to->scheme, (*base)->width, to->width)) {
      co_return Fail(StatusCode::kInvalidArgument,
                     "plan no-order is for transitions to narrower only");
    }
    base = co_await ToMove(session_, *base, *to, steps_);
    if (!base) {
      if (current.MayRetry(base.error())) continue;
      co_return Fail(base.error());
    }
    Manifest next = **base;
    next.id = session_.NewChangeId();
    next.scheme = to->scheme;
    next.width = to->width;
    Staged staged = co_await StageAndPrepare(
        session_, current.replica_set(),
        StageNewForm(session_, *base, variant, options_.column_below, next,
                     info, steps_));
    status = std::move(staged.status);
    if (!status.ok()) {
      DropStaged(session_, next);
      if (current.MayRetry(status)) continue;
      co_return Fail(std::move(status));
    }
    Check check = PlannedOn((*base)->id);
    const bool drops = info.path != TransitionPath::kReencode &&
                       next.scheme.m < (*base)->scheme.m && !next.is_inline;
    if (drops) {
      check = WithoutDropped(session_, std::make_shared<const Manifest>(next),
                             std::move(check));
    }
    ChangeOutcome outcome = co_await CommitChange(
        session_, current.replica_set(), std::move(next), ClientCas::kStays,
        std::move(staged.prepared), check);
    if (outcome.restart) {
      current.Restart(std::move(outcome));
      continue;
    }
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    session_.counters()
        .of(KindOf(info.path, (*base)->width, *outcome.committed))
        .committed.Add();
    info.microseconds = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(
            session_.runtime().Now() - start)
            .count());
    info.object = InfoOf(*outcome.committed);
    co_return info;
  }
}

}  // namespace ers::store
