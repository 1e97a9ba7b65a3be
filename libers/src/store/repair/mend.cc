#include "store/repair/mend.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "store/blocks/dropping.h"
#include "store/commit/change.h"
#include "store/format/object_map.h"
#include "store/format/planted_bug.h"
#include "store/repair/warmth.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

// A rival each time: then somebody else is at work on the object.
constexpr int kMendTries = 64;

Task<Result<Lacking>> AskFor(Session& session, const ObjectMap& map, int group,
                             const std::vector<int>& members) {
  Lacking lacking;
  std::vector<BlockId> named;
  for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
    const int member = map.MemberOf(group, block);
    if (std::find(members.begin(), members.end(), member) == members.end()) {
      continue;
    }
    if (map.GenerationOf(group, block)) {
      named.push_back(block);
    } else {
      lacking.never.push_back(block);
    }
  }
  std::set<int> silent;
  Result<std::vector<BlockId>> lost =
      co_await FindLost(session, map, group, named, silent);
  if (!lost) co_return Fail(lost.error());
  lacking.lost = std::move(*lost);
  co_return lacking;
}

}  // namespace

FindLacking LackingOn(Session& session, const std::vector<int>& members) {
  return [&session, &members](const ObjectMap& map, int group) {
    return AskFor(session, map, group, members);
  };
}

Task<Result<MendedObject>> MendObject(Session& session, std::string_view key,
                                      const MendTerms& terms) {
  ReplicaSet chain(session, key, terms.steps);
  chain.ReadUncounted();
  chain.GoOutOfTurn();
  ChangeId short_before;
  MendedObject mended;
  for (int tries = 0; tries < kMendTries;) {
    chain.RestartDeadline();
    const std::int64_t asked_us = session.WallMicros();
    const Result<ManifestPtr> reconciled = co_await chain.ReadReconciled();
    if (!reconciled) co_return Fail(reconciled.error());
    mended.reconciled = chain.reconciled();
    const ManifestPtr& base = *reconciled;
    const bool has_blocks =
        base && chain.Alive(*base, asked_us) && !base->is_inline;
    if (!has_blocks || Planted(PlantedBug::kBackfillManifestsOnly)) {
      co_return mended;
    }
    Mending mending(session, base, ChangeId(), terms);
    Status status = co_await mending.Run();
    if (!status.ok()) {
      if (mending.completes()) DropStaged(session, mending.next());
      // A change may have dropped the blocks under the read.
      const bool short_now = status.code() == StatusCode::kNotFound ||
                             Planted(PlantedBug::kEndsUnreadable);
      const bool lost = short_now && short_before == base->id;
      if (lost && terms.ends_lost) co_await EndUnreadable(session, base);
      if (lost || !short_now) co_return Fail(std::move(status));
      short_before = base->id;
      ++tries;
      continue;
    }
    if (mending.completes()) {
      const Check check = PlannedOn(base->id);
      const ChangeOutcome outcome =
          co_await CommitChange(session, chain, std::move(mending.next()),
                                ClientCas::kStays, std::nullopt, check);
      if (outcome.restart) {
        ++tries;
        continue;
      }
      if (!outcome.status.ok()) co_return Fail(outcome.status);
      tries = 0;
    }
    mended.blocks += mending.blocks();
    mended.traffic += mending.traffic();
    if (!mending.unfinished()) co_return mended;
  }
  co_return Fail(StatusCode::kUnavailable,
                 "the object is changed by others without end");
}

}  // namespace ers::store
