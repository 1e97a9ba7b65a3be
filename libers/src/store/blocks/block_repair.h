// Putting lost blocks back where they were.
#ifndef ERS_STORE_BLOCKS_BLOCK_REPAIR_H_
#define ERS_STORE_BLOCKS_BLOCK_REPAIR_H_

#include <span>

#include "net/task.h"
#include "store/blocks/plan_executor.h"

namespace ers::store {

// Stores `blocks` of `group` again, under the generation that they have, as far
// as `run` has read or recovered them; run.written() has which.
net::Task<void> RepairBlocks(Session& session, const ObjectMap& map, int group,
                             PlanExecutor& run,
                             std::span<const layout::BlockId> blocks);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_BLOCK_REPAIR_H_
