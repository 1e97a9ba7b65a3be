#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "plan/plan_cache.h"
#include "store/change.h"
#include "store/content.h"
#include "store/current.h"
#include "store/dropping.h"
#include "store/expiry.h"
#include "store/object_reader.h"
#include "store/object_writer.h"
#include "store/store.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

constexpr std::size_t kGroupsAtOnce = 2;

// Where an object is to go, seen from where it is.
struct Destination {
  Scheme scheme;
  Width width = Width::kNarrow;
};

Result<Destination> Resolve(const Manifest& base,
                            const TransitionTarget& target) {
  Destination to{target.scheme.value_or(base.scheme),
                 target.width.value_or(Width::kNarrow)};
  if (target.width && !to.scheme.elastic()) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("scheme {} has one width only: name an elastic "
                            "scheme to go to",
                            FormatScheme(to.scheme)));
  }
  const Status valid = ValidateStoredScheme(to.scheme);
  if (!valid.ok()) return Fail(valid);
  if (to.scheme == base.scheme && to.width == base.width) {
    return Fail(StatusCode::kAlreadyThere,
                fmt::format("key '{}' is {} {} already", base.key,
                            FormatScheme(base.scheme), WidthName(base.width)));
  }
  return to;
}

// One group's new parity from its old.
struct GroupTransition {
  std::unique_ptr<GroupRun> run;
  int group = 0;
  Status status;
  net::Latch done;
  explicit GroupTransition(net::Runtime& runtime) : done(runtime, 1) {}
};

class PlannedTransition {
 public:
  PlannedTransition(Session& session, const ObjectMap& map,
                    TransitionVariant variant, Manifest& next, StepTimer* steps)
      : session_(session),
        steps_(steps),
        map_(map),
        variant_(variant),
        next_(next),
        staging_{next.id,
                 BlockExptime(next.expiry, session.runtime().WallMicros())} {}

  Task<Status> Run() {
    for (int group = 0; group < map_.groups() && status_.ok(); ++group) {
      auto& one = under_way_.emplace_back(
          std::make_unique<GroupTransition>(session_.runtime()));
      one->group = group;
      one->run = std::make_unique<GroupRun>(session_, map_, group,
                                            /*writing=*/true, steps_);
      net::Spawn(RunGroup(*one));
      if (under_way_.size() == kGroupsAtOnce) co_await FinishOldest();
    }
    while (!under_way_.empty()) co_await FinishOldest();
    co_await MarkFailed(session_, failed_members_);
    const ObjectMap after(std::make_shared<const Manifest>(next_));
    for (int group = 0; group < map_.groups() && status_.ok(); ++group) {
      status_ = CheckRedundancy(session_, after, group);
    }
    co_return status_;
  }
  const BlockTraffic& traffic() const { return traffic_; }

 private:
  std::optional<plan::Plan> MakePlan(const plan::Missing& missing) const {
    const bool forward = next_.width == Width::kWide;
    if (missing.blocks.empty() && missing.dead_nodes.empty()) {
      return forward ? *plan::CachedForwardPlan(next_.scheme, variant_)
                     : *plan::CachedBackwardPlan(next_.scheme, variant_);
    }
    return forward ? plan::PlanForward(map_.geometry(), variant_, missing)
                   : plan::PlanBackward(map_.geometry(), variant_, missing);
  }

  Task<void> RunGroup(GroupTransition& one) {
    const GroupRun::Planner planner = [this](const plan::Missing& missing) {
      return MakePlan(missing);
    };
    one.status = co_await one.run->Run(planner, &staging_);
    one.done.CountDown();
  }

  Task<void> FinishOldest() {
    GroupTransition& one = *under_way_.front();
    co_await one.done;
    if (status_.ok()) status_ = one.status;
    traffic_ += one.run->traffic();
    failed_members_.insert(one.run->failed_members().begin(),
                           one.run->failed_members().end());
    for (const BlockId block : one.run->unstaged()) {
      SetGeneration(map_.geometry(), one.group, block, ChangeId{}, next_);
    }
    under_way_.erase(under_way_.begin());
  }

  Session& session_;
  StepTimer* const steps_;
  const ObjectMap& map_;
  const TransitionVariant variant_;
  Manifest& next_;
  const Staging staging_;
  std::vector<std::unique_ptr<GroupTransition>> under_way_;
  std::set<int> failed_members_;
  BlockTraffic traffic_;
  Status status_;
};

// A stored object as the content of another: read ahead of the writer, group
// by group.
class ObjectContent final : public Content {
 public:
  ObjectContent(Session& session, const ObjectMap& map, StepTimer* steps)
      : session_(session), steps_(steps), map_(map) {}

  Result<std::span<const std::byte>> Open(std::size_t most) override {
    return parts_.Open(std::min(most, *Left()));
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

Task<Status> Reencode(Session& session, const ObjectMap& map, Manifest& next,
                      BlockTraffic& traffic, StepTimer* steps) {
  // Nothing of the new form is there yet: whoever drops it must find that.
  next.length = 0;
  next.data = GenerationMap();
  next.parity = GenerationMap();
  Status placed = PlaceObject(session, next);
  if (!placed.ok()) co_return placed;
  ObjectContent content(session, map, steps);
  WriteOutcome outcome = co_await WriteGroups(session, content, 0, next, steps);
  traffic += content.traffic();
  traffic += outcome.traffic;
  session.counters().degraded_reads.Add(content.degraded());
  co_await MarkFailed(session, std::move(outcome.failed_members));
  co_return outcome.status;
}

TransitionKind KindOf(TransitionPath path, Width to) {
  if (path == TransitionPath::kReencode) return TransitionKind::kReencode;
  return to == Width::kWide ? TransitionKind::kWiden : TransitionKind::kNarrow;
}

void CountTraffic(const BlockTraffic& traffic, TransitionCounters& counters) {
  counters.data_reads.Add(traffic.data_reads);
  counters.parity_reads.Add(traffic.parity_reads);
  counters.writes.Add(traffic.writes);
  counters.bytes_read.Add(traffic.bytes_read);
  counters.bytes_written.Add(traffic.bytes_written);
}

// Stages what the new form needs.
Task<Status> StageNewForm(Session& session, const ManifestPtr& base,
                          TransitionVariant variant, Manifest& next,
                          TransitionInfo& info, StepTimer* steps) {
  if (base->is_inline) co_return CheckParity(session, next.scheme);
  const ObjectMap map(base);
  BlockTraffic traffic;
  Status status;
  if (info.path == TransitionPath::kReencode) {
    status = co_await Reencode(session, map, next, traffic, steps);
  } else {
    next.parity = GenerationMap(
        static_cast<std::uint32_t>(map.groups() *
                                   map.geometry().parity_blocks(next.width)),
        next.id);
    PlannedTransition transition(session, map, variant, next, steps);
    status = co_await transition.Run();
    traffic = transition.traffic();
  }
  CountTraffic(traffic, session.counters().of(KindOf(info.path, next.width)));
  info.data_reads = traffic.data_reads;
  info.parity_reads = traffic.parity_reads;
  info.writes = traffic.writes;
  info.bytes_read = traffic.bytes_read;
  info.bytes_written = traffic.bytes_written;
  co_return status;
}

}  // namespace

Task<Result<TransitionInfo>> Store::Transition(std::string_view key,
                                               const TransitionTarget& target,
                                               TransitionVariant variant) {
  const net::TimePoint start = session_.runtime().Now();
  CurrentManifest current(session_, key, steps_);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return Fail(std::move(status));
  current.chain().ReadUncounted();
  for (;;) {
    Result<ManifestPtr> base = co_await current.Next();
    if (!base) co_return Fail(base.error());
    const Result<Destination> to = Resolve(**base, target);
    if (!to) {
      if (current.remembered()) continue;
      co_return Fail(to.error());
    }
    if (variant == TransitionVariant::kNoOrder && to->width == Width::kWide) {
      co_return Fail(StatusCode::kInvalidArgument,
                     "plan no-order is for transitions to narrow only");
    }
    TransitionInfo info;
    info.path = to->scheme == (*base)->scheme || (*base)->is_inline
                    ? TransitionPath::kPlan
                    : TransitionPath::kReencode;
    Manifest next = **base;
    next.id = session_.change_ids().Next();
    next.scheme = to->scheme;
    next.width = to->width;
    Staged staged = co_await StageAndPrepare(
        session_, current.chain(),
        StageNewForm(session_, *base, variant, next, info, steps_));
    status = std::move(staged.status);
    if (!status.ok()) {
      DropStaged(session_, next);
      if (current.MayRetry(status)) continue;
      co_return Fail(std::move(status));
    }
    const Check check = PlannedOn((*base)->id);
    const ChangeOutcome outcome = co_await CommitChange(
        session_, current.chain(), std::move(next), ClientCas::kStays,
        std::move(staged.prepared), check);
    if (outcome.restart) continue;
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    session_.counters().of(KindOf(info.path, to->width)).committed.Add();
    info.microseconds = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(
            session_.runtime().Now() - start)
            .count());
    info.object = InfoOf(*outcome.committed);
    co_return info;
  }
}

}  // namespace ers::store
