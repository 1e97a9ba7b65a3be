// PlanExecutor: the one executor. It runs plans for one group of one object:
// reads the blocks they read, computes their steps as soon as the inputs are
// there, and stages what they write while other reads are still under way.
// What they are given is there when it begins (GroupPut: when it comes).
#ifndef ERS_STORE_BLOCKS_PLAN_EXECUTOR_H_
#define ERS_STORE_BLOCKS_PLAN_EXECUTOR_H_

#include <functional>
#include <span>
#include <vector>

#include "net/task.h"
#include "plan/planners.h"
#include "store/blocks/block_buffers.h"
#include "store/blocks/block_group.h"
#include "store/blocks/block_reader.h"
#include "store/blocks/block_transfer.h"
#include "store/blocks/block_writer.h"
#include "store/blocks/hedge.h"
#include "store/blocks/missing_blocks.h"

namespace ers::store {

// Loop thread only; lives until its Run has returned.
class PlanExecutor {
 public:
  // `buffers` have what is placed and given, and outlive it, as `staging`
  // does: how what plans write is staged. Null: they write nothing, and read
  // of members also that new blocks may not be put on.
  PlanExecutor(const BlockGroup& group, BlockBuffers& buffers,
               const Staging* staging);
  PlanExecutor(const PlanExecutor&) = delete;
  PlanExecutor& operator=(const PlanExecutor&) = delete;

  // Once: runs the plan that `planner` makes for what is missing; replans when
  // more turns out to be missing.
  // Given blocks that depend on reads are finished by `supply`, called once
  // all reads and the steps without given inputs are done, before the rest.
  // kNotFound, kCorruption, kUnavailable: as MissingBlocks::Shortage.
  // kNoMemory, kTooLarge: a server refused a block; staged ones are left for
  // the caller to drop.
  net::Task<Status> Run(const Planner& planner,
                        const std::function<void()>& supply = {});

  // Stores those of `blocks` that are in hand, read or recovered by a Run that
  // staged nothing: under the generation they have, a repair, or under
  // `generation`, where they have none. `step` is what that is for.
  net::Task<void> WriteBack(SendStep step,
                            std::span<const layout::BlockId> blocks,
                            const ChangeId& generation = {});

  // What was staged, or written back.
  [[nodiscard]] const BlockWriter& written() const { return writer_; }
  // Blocks that servers answered not to have, or had corrupted.
  [[nodiscard]] const std::vector<layout::BlockId>& gone() const {
    return missing_.gone();
  }
  // Some data block is missing, and was recovered from others.
  [[nodiscard]] bool degraded() const { return degraded_; }
  [[nodiscard]] BlockTraffic traffic() const;

 private:
  net::Task<BlockReader::End> RunOnce(const plan::Plan& plan, Hedge& hedge,
                                      const std::function<void()>& supply);

  const BlockGroup group_;
  BlockBuffers& buffers_;
  const Staging* const staging_;
  MissingBlocks missing_;
  BlockWriter writer_;
  BlockTraffic reads_;
  bool degraded_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_PLAN_EXECUTOR_H_
