#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "store/blocks/dropping.h"
#include "store/blocks/object_placement.h"
#include "store/blocks/object_reader.h"
#include "store/blocks/object_writer.h"
#include "store/commit/change.h"
#include "store/commit/current.h"
#include "store/membership/view_changer.h"
#include "store/objects/packed_value.h"
#include "store/objects/store.h"
#include "store/support/content.h"

namespace ers::store {
namespace {

using net::Task;

// What the object holds behind its last full group: it is written anew
// together with what is appended.
Task<Result<std::vector<std::byte>>> ReadTail(Session& session,
                                              const ObjectMap& map,
                                              std::uint64_t from,
                                              StepTimer* steps) {
  std::vector<std::byte> tail(map.manifest().length - from);
  const ReadOutcome read =
      co_await ReadRange(session, map, from, tail.size(), tail.data(), steps);
  session.counters().degraded_reads.Add(read.degraded);
  if (!read.status.ok()) co_return Fail(read.status);
  co_return tail;
}

// Stages the new end; `next` becomes the longer object.
Task<Status> StageEnd(Session& session, Content& content, int first_group,
                      Manifest& next, StepTimer* steps) {
  // What is dropped where the source fails at once: no block behind these
  // groups.
  next.length = static_cast<std::uint64_t>(first_group) * next.group_bytes;
  WriteOutcome outcome =
      co_await WriteGroups(session, content, first_group, next, steps);
  co_await MarkFailed(session, outcome.epoch,
                      std::move(outcome.failed_members));
  if (!outcome.status.ok()) DropStaged(session, next);
  co_return outcome.status;
}

// An inline object grows: it stays inline while it is small.
Task<Status> GrowInline(Session& session, const ClientOptions& client,
                        const Source& source, Manifest& next,
                        StepTimer* steps) {
  const auto* value = reinterpret_cast<const std::byte*>(next.value.data());
  SourceContent content(source, {value, value + next.value.size()});
  Result<std::span<const std::byte>> head =
      co_await content.Peek(LongestChosenFor(session, next, client));
  if (!head) co_return head.error();
  if (RidesInManifest(session, next, head->size(), client)) {
    next.value.assign(reinterpret_cast<const char*>(head->data()),
                      head->size());
    next.length = head->size();
    co_return Status();
  }
  next.is_inline = false;
  next.value.clear();
  Status placed = PlaceObject(session, next, head->size(), client.column_below);
  if (!placed.ok()) co_return placed;
  co_return co_await StageEnd(session, content, 0, next, steps);
}

// `tail` is the content behind the last full group. One that is written anew
// from its start may change its unit.
Task<Status> GrowCoded(Session& session, const ObjectMap& map,
                       const ClientOptions& client, std::vector<std::byte> tail,
                       const Source& source, Manifest& next, StepTimer* steps) {
  const std::uint64_t full = next.length / next.group_bytes;
  SourceContent content(source, std::move(tail));
  if (full == 0) {
    Result<std::span<const std::byte>> head =
        co_await content.Peek(LongestChosenFor(session, next, client));
    if (!head) co_return head.error();
    ChooseUnit(session, next, head->size(), client.column_below);
  }
  const auto groups = static_cast<std::uint32_t>(full);
  const layout::Geometry& geometry = map.geometry();
  next.data.Resize(groups * static_cast<std::uint32_t>(geometry.data_blocks()),
                   {});
  next.parity.Resize(
      groups * static_cast<std::uint32_t>(geometry.parity_blocks(next.width)),
      {});
  co_return co_await StageEnd(session, content, static_cast<int>(full), next,
                              steps);
}

// The manifest to start from, and what of the value is to be written again.
struct AppendBase {
  std::shared_ptr<const Manifest> manifest;
  std::vector<std::byte> tail;
};

// The source is not touched yet: this may start over where a rival replaced
// the blocks under the read.
Task<Result<AppendBase>> ReadBase(Session& session, CurrentManifest& current) {
  for (;;) {
    Result<std::shared_ptr<const Manifest>> manifest = co_await current.Next();
    // A source is read once: it must not be spent on an old manifest.
    if (manifest && current.remembered()) manifest = co_await current.Next();
    if (!manifest) co_return Fail(manifest.error());
    AppendBase base{std::move(*manifest), {}};
    if (base.manifest->is_packed()) {
      manifest = co_await Unpacked(session, base.manifest,
                                   current.replica_set().steps());
      if (manifest) {
        base.manifest = std::move(*manifest);
        co_return base;
      }
      if (!current.MayRetry(manifest.error())) co_return Fail(manifest.error());
      continue;
    }
    if (base.manifest->is_inline) co_return base;
    const ObjectMap map(base.manifest);
    const std::uint64_t full =
        base.manifest->length / base.manifest->group_bytes;
    Result<std::vector<std::byte>> tail =
        co_await ReadTail(session, map, full * base.manifest->group_bytes,
                          current.replica_set().steps());
    if (tail) {
      base.tail = std::move(*tail);
      co_return base;
    }
    if (!current.MayRetry(tail.error())) co_return Fail(tail.error());
  }
}

}  // namespace

Task<Result<ObjectInfo>> Store::Append(std::string_view key,
                                       const Source& source) {
  CurrentManifest current(session_, key, steps_, kNoBump);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return Fail(std::move(status));
  Result<AppendBase> base = co_await ReadBase(session_, current);
  if (!base) co_return Fail(base.error());
  Manifest next = *base->manifest;
  next.id = session_.NewChangeId();
  next.stale = next.won = false;
  if (next.is_inline) {
    status = co_await GrowInline(session_, options_, source, next, steps_);
  } else {
    const ObjectMap map(base->manifest);
    status = co_await GrowCoded(session_, map, options_, std::move(base->tail),
                                source, next, steps_);
  }
  if (!status.ok()) co_return Fail(std::move(status));
  const ChangeId base_id = base->manifest->id;
  const Check check = [base_id,
                       key](const Manifest* living) -> Result<Verdict> {
    if (living == nullptr) {
      return Fail(StatusCode::kNotFound,
                  fmt::format("key '{}' holds no object any more", key));
    }
    return living->id == base_id ? Verdict::kGoOn : Verdict::kRestart;
  };
  const ChangeOutcome outcome =
      co_await CommitChange(session_, current.replica_set(), std::move(next),
                            ClientCas::kRises, std::nullopt, check);
  if (outcome.restart) {
    co_return Fail(StatusCode::kConflict,
                   "the object changed while it was appended to; nothing was "
                   "appended: try again");
  }
  if (!outcome.status.ok()) co_return Fail(outcome.status);
  co_return InfoOf(*outcome.committed);
}

}  // namespace ers::store
