#include "store/repair/repair.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "store/blocks/dropping.h"
#include "store/commit/change.h"
#include "store/format/object_map.h"
#include "store/format/planted_bug.h"
#include "store/repair/lru_bump.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

// A rival each time: then another change is at work on the object.
constexpr int kRepairTries = 64;

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

Task<Result<RepairedObject>> RepairObject(Session& session,
                                          std::string_view key,
                                          const RepairTerms& terms) {
  ChangeTerms change;
  change.out_of_turn = true;
  change.of_pack = true;
  ReplicaSet replicas(session, key, terms.steps, change);
  ChangeId short_before;
  RepairedObject repaired;
  for (int tries = 0; tries < kRepairTries;) {
    replicas.turn().RestartDeadline();
    const std::int64_t asked_us = session.WallMicros();
    const Result<Reconciler::Read> read =
        co_await replicas.reconciler().ReadReconciled();
    if (!read) co_return Fail(read.error());
    repaired.reconciled = repaired.reconciled || read->reconciled;
    const ManifestPtr& base = read->manifest;
    const bool has_blocks =
        base && replicas.Alive(*base, asked_us) && !base->is_inline;
    if (!has_blocks || Planted(PlantedBug::kBackfillManifestsOnly)) {
      co_return repaired;
    }
    ObjectRepair repair(session, base, ChangeId(), terms);
    Status status = co_await repair.Run();
    if (!status.ok()) {
      if (repair.completes()) DropStaged(session, repair.next());
      // A change may have dropped the blocks under the read.
      const bool short_now = status.code() == StatusCode::kNotFound ||
                             Planted(PlantedBug::kEndsUnreadable);
      const bool lost = short_now && short_before == base->id;
      if (lost && terms.ends_lost) (void)co_await EndUnreadable(session, base);
      if (lost || !short_now) co_return Fail(std::move(status));
      short_before = base->id;
      ++tries;
      continue;
    }
    if (repair.completes()) {
      const Check check = PlannedOn(base->id);
      const ChangeOutcome outcome =
          co_await CommitChange(session, replicas, std::move(repair.next()),
                                ClientCas::kStays, std::nullopt, check);
      if (outcome.restart) {
        ++tries;
        continue;
      }
      if (!outcome.status.ok()) co_return Fail(outcome.status);
      tries = 0;
    }
    repaired.blocks += repair.blocks();
    repaired.traffic += repair.traffic();
    if (!repair.unfinished()) co_return repaired;
  }
  co_return Fail(StatusCode::kUnavailable,
                 "the object is changed by others without end");
}

}  // namespace ers::store
