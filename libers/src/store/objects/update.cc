#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "store/blocks/dropping.h"
#include "store/blocks/object_placement.h"
#include "store/blocks/plan_executor.h"
#include "store/commit/change.h"
#include "store/commit/current.h"
#include "store/format/expiry.h"
#include "store/membership/view_changer.h"
#include "store/objects/packed_value.h"
#include "store/objects/store.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;
using Bytes = std::span<const std::byte>;

// The part of an update that lies in one group.
class GroupUpdate {
 public:
  GroupUpdate(Session& session, const ObjectMap& map, int group,
              std::uint64_t offset, Bytes bytes, const Staging& staging,
              StepTimer* steps)
      : map_(map),
        group_(group),
        generation_(staging.generation),
        buffers_(session.buffers(), map, group),
        run_({session, map, group, steps}, buffers_, &staging),
        begin_(std::max(offset, map.GroupOffset(group)) -
               map.GroupOffset(group)),
        bytes_(bytes) {
    const std::uint64_t before = map.GroupOffset(group) + begin_ - offset;
    const std::uint64_t room = map.GroupLength(group) - begin_;
    bytes_ = bytes_.subspan(before, std::min(room, bytes.size() - before));
    Divide();
  }

  Task<Status> Run() {
    const Planner planner = [this](const plan::Missing& missing) {
      return plan::PlanUpdate(map_.geometry(), map_.width(), touched_, keep_,
                              missing);
    };
    const std::function<void()> supply = [this] { Overlay(); };
    co_return co_await run_.Run(planner, supply);
  }

  // Puts the new generations into the manifest.
  void Name(Manifest& manifest) const {
    for (const BlockId block : run_.written().stored()) {
      SetGeneration(map_.geometry(), group_, block, generation_, manifest);
    }
    for (const BlockId block : run_.written().left_out()) {
      SetGeneration(map_.geometry(), group_, block, ChangeId{}, manifest);
    }
  }
  const std::set<int>& failed_members() const {
    return run_.written().failed_members();
  }

 private:
  // A block whose every byte of the value is overwritten needs no old content;
  // one that lies whole in the caller's bytes is not even copied.
  void Divide() {
    const std::uint64_t block = buffers_.data_bytes();
    const std::uint64_t end = begin_ + bytes_.size();
    for (std::uint64_t j = begin_ / block; j * block < end; ++j) {
      const auto id = static_cast<BlockId>(j);
      touched_.push_back(id);
      const std::uint64_t start = j * block;
      if (start >= begin_ && start + block <= end) {
        buffers_.Give(id, bytes_.data() + (start - begin_));
        continue;
      }
      const std::uint64_t stop =
          std::min(start + block, map_.GroupLength(group_));
      if (start < begin_ || stop > end) keep_.push_back(id);
      edges_.push_back({id, std::vector<std::byte>(block)});
      buffers_.Give(id, edges_.back().content.data());
    }
  }

  void Overlay() {
    const std::uint64_t block = buffers_.data_bytes();
    for (Edge& edge : edges_) {
      if (const std::byte* old = buffers_.Have(edge.block);
          old != nullptr &&
          std::find(keep_.begin(), keep_.end(), edge.block) != keep_.end()) {
        std::memcpy(edge.content.data(), old, block);
      }
      const std::uint64_t start = edge.block * block;
      const std::uint64_t from = std::max(start, begin_);
      const std::uint64_t to = std::min(start + block, begin_ + bytes_.size());
      std::memcpy(edge.content.data() + (from - start),
                  bytes_.data() + (from - begin_), to - from);
    }
  }

  struct Edge {
    BlockId block;
    std::vector<std::byte> content;  // its heap memory stays put
  };

  const ObjectMap& map_;
  const int group_;
  const ChangeId generation_;
  BlockBuffers buffers_;
  PlanExecutor run_;
  std::uint64_t begin_;  // of the bytes, within the group
  Bytes bytes_;
  std::vector<BlockId> touched_;
  std::vector<BlockId> keep_;
  std::vector<Edge> edges_;
};

// Stages the changed blocks of all groups that the bytes touch.
Task<Status> StageUpdate(Session& session, const ObjectMap& map,
                         std::uint64_t offset, Bytes bytes, Manifest& next,
                         StepTimer* steps) {
  const Staging staging{next.id,
                        BlockExptime(next.expiry, session.WallMicros())};
  const std::uint64_t size = map.manifest().group_bytes;
  const std::uint64_t epoch = session.view()->epoch;
  std::set<int> failed;
  Status status;
  for (std::uint64_t at = offset / size * size;
       at < offset + bytes.size() && status.ok(); at += size) {
    const int group = static_cast<int>(at / size);
    GroupUpdate update(session, map, group, offset, bytes, staging, steps);
    status = co_await update.Run();
    update.Name(next);
    failed.insert(update.failed_members().begin(),
                  update.failed_members().end());
    if (!status.ok()) break;
    const ObjectMap changed(std::make_shared<const Manifest>(next));
    status = CheckRedundancy(session, changed, group);
  }
  co_await MarkFailed(session, epoch, std::move(failed));
  co_return status;
}

Status CheckReach(const Manifest& base, std::uint64_t offset, Bytes bytes) {
  if (offset <= base.length && bytes.size() <= base.length - offset) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("{} bytes from offset {} on reach beyond the value's end "
                      "at {}: use append to make it longer",
                      bytes.size(), offset, base.length)};
}

}  // namespace

Task<Result<ObjectInfo>> Store::Update(std::string_view key,
                                       std::uint64_t offset, Bytes bytes) {
  CurrentManifest source(session_, key, steps_);
  Status status = co_await source.BeginInTurn();
  if (!status.ok()) co_return Fail(std::move(status));
  for (;;) {
    Result<std::shared_ptr<const Manifest>> base = co_await source.Next();
    if (!base) co_return Fail(base.error());
    status = CheckReach(**base, offset, bytes);
    if (!status.ok() || bytes.empty()) {
      // What was remembered may be old: it must not refuse what would do.
      if (source.remembered()) continue;
      if (!status.ok()) co_return Fail(std::move(status));
      co_return InfoOf(**base);
    }
    std::optional<ReplicasRead> prepared = source.TakeReplicas();
    base = co_await Unpacked(session_, *base, steps_);
    if (!base) {
      if (source.MayRetry(base.error())) continue;
      co_return Fail(base.error());
    }
    Manifest next = **base;
    next.id = session_.NewChangeId();
    if (next.is_inline) {
      std::memcpy(next.value.data() + offset, bytes.data(), bytes.size());
    } else {
      const ObjectMap map(*base);
      Staged staged = co_await StageAndPrepare(
          session_, source.replica_set(),
          StageUpdate(session_, map, offset, bytes, next, steps_));
      status = std::move(staged.status);
      prepared = std::move(staged.prepared);
      if (!status.ok()) {
        DropStaged(session_, next);
        if (source.MayRetry(status)) continue;
        co_return Fail(std::move(status));
      }
    }
    const Check check = PlannedOn((*base)->id);
    ChangeOutcome outcome =
        co_await CommitChange(session_, source.replica_set(), std::move(next),
                              ClientCas::kRises, std::move(prepared), check);
    if (outcome.restart) {
      source.Restart(std::move(outcome));
      continue;
    }
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    co_return InfoOf(*outcome.committed);
  }
}

}  // namespace ers::store
