#include "store/blocks/block_repair.h"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "store/blocks/dropping.h"
#include "store/blocks/extend.h"
#include "store/format/expiry.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// A change may have dropped these very blocks while they were read; so the
// manifest is read once more afterwards, and what it no longer names goes
// again. A change that flips it after that drops them itself.
net::Task<void> RepairBlocks(Session& session, const ObjectMap& map, int group,
                             PlanExecutor& run,
                             std::span<const layout::BlockId> blocks) {
  co_await run.WriteBack(SendStep::kRepair, blocks);
  const std::set<layout::BlockId>& stored = run.written().stored();
  if (stored.empty()) co_return;
  session.counters().repaired_blocks.Add(stored.size());
  ReplicaSet replicas(session, map.manifest().key);
  PrimaryTerms terms;
  terms.take_ended = true;
  Result<ShownManifest> now = co_await replicas.ReadPrimary(terms);
  // A plain item has taken the object's place: of that nothing stays.
  if (!now && now.error().code() == StatusCode::kNotManaged) now = nullptr;
  // Not to be learned: garbage collection will.
  if (!now) co_return;
  // It got a longer life while they were written with the end that it had.
  const std::int64_t end = map.manifest().expiry;
  if (*now && !(*now)->tombstone && LivesLonger((*now)->expiry, end)) {
    std::vector<PlacedBlock> placed;
    for (const layout::BlockId block : stored) {
      placed.emplace_back(group, block);
    }
    (void)co_await ExtendBlocks(session, map, std::move(placed), nullptr);
  }
  DropOutdated(session, map, group, stored, std::move(*now));
}

}  // namespace ers::store
