#include "store/commit/staged_blocks.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "store/blocks/object_repair.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;

bool HasBlocks(const Manifest* manifest) {
  return manifest != nullptr && !manifest->tombstone && !manifest->is_inline;
}

bool LacksSome(const GenerationMap& generations) {
  return std::any_of(generations.runs().begin(), generations.runs().end(),
                     [](const auto& run) { return !run.generation; });
}

// Finds what a change's blocks lack.
class Finder {
 public:
  Finder(Session& session, const View& view, std::uint64_t first_epoch,
         const Manifest* replaced, const ChangeId& id)
      : session_(session), view_(view), first_epoch_(first_epoch), id_(id) {
    if (HasBlocks(replaced)) {
      replaced_.emplace(std::make_shared<const Manifest>(*replaced));
    }
  }

  [[nodiscard]] bool HasReturned(int member) const {
    const Member& is = Of(member);
    return is.state != MemberState::kDown && is.joined > first_epoch_;
  }

  // All of it is stored under the change's own generation, which nothing else
  // names: to the repair it was never stored.
  Task<Result<Lacking>> Find(const ObjectMap& map, int group) {
    Lacking lacking;
    std::vector<BlockId> staged;
    for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
      const int member = map.MemberOf(group, block);
      const ChangeId generation = map.GenerationOf(group, block);
      if (!generation && IsLeftOut(map, group, block)) {
        lacking.never.push_back(block);
      } else if (generation == id_ && HasReturned(member)) {
        staged.push_back(block);
      }
    }
    const Result<std::vector<BlockId>> lost =
        co_await FindLost(session_, map, group, staged, silent_);
    if (!lost) co_return Fail(lost.error());
    lacking.never.insert(lacking.never.end(), lost->begin(), lost->end());
    co_return lacking;
  }

  std::set<int>& silent() { return silent_; }

 private:
  [[nodiscard]] const Member& Of(int member) const {
    return view_.members[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] bool IsLeftOut(const ObjectMap& map, int group,
                               BlockId block) const {
    const int member = map.MemberOf(group, block);
    if (Of(member).state == MemberState::kDown) return false;
    const bool is_old = replaced_ && Names(*replaced_, map, group, block) &&
                        replaced_->MemberOf(group, block) == member;
    return !is_old;
  }

  Session& session_;
  const View& view_;
  const std::uint64_t first_epoch_;
  const ChangeId id_;
  std::optional<ObjectMap> replaced_;
  std::set<int> silent_;
};

}  // namespace

Task<StagedCompletion> CompleteStaged(Session& session, const View& view,
                                      std::uint64_t first_epoch,
                                      const Manifest* replaced, Manifest& next,
                                      StepTimer* steps) {
  StagedCompletion completion;
  if (!HasBlocks(&next)) co_return completion;
  Finder finder(session, view, first_epoch, replaced, next.id);
  const bool returned = std::any_of(
      next.nodes.begin(), next.nodes.end(),
      [&finder](std::uint16_t member) { return finder.HasReturned(member); });
  if (!returned && !LacksSome(next.data) && !LacksSome(next.parity)) {
    co_return completion;
  }
  RepairTerms terms;
  terms.find = [&finder](const ObjectMap& map, int group) {
    return finder.Find(map, group);
  };
  terms.steps = steps;
  ObjectRepair repair(session, std::make_shared<const Manifest>(next), next.id,
                      terms);
  completion.status = co_await repair.Run();
  completion.stored = repair.completes();
  if (completion.status.ok()) {
    next = std::move(repair.next());
    co_return completion;
  }
  completion.tried = std::move(repair.next());
  completion.failed_members = repair.failed_members();
  completion.failed_members.merge(finder.silent());
  if (completion.status.code() != StatusCode::kUnavailable) {
    completion.status =
        Status(StatusCode::kUnavailable,
               "blocks that were staged are gone before the change is "
               "committed: try again (" +
                   completion.status.message() + ")");
  }
  co_return completion;
}

}  // namespace ers::store
