// GroupPut: one group of a value that is being written. As its bytes come, they
// are cut into blocks, parity is computed, and all is staged.
#ifndef ERS_STORE_BLOCKS_GROUP_PUT_H_
#define ERS_STORE_BLOCKS_GROUP_PUT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "net/task.h"
#include "plan/plan.h"
#include "store/blocks/block_buffers.h"
#include "store/blocks/block_group.h"
#include "store/blocks/block_writer.h"
#include "store/blocks/missing_blocks.h"
#include "store/blocks/plan_steps.h"

namespace ers::store {

// Loop thread only; lives until its Run has returned.
class GroupPut {
 public:
  // `bytes` are the group's, and outlive it; `filled` of them are there.
  GroupPut(Session& session, std::shared_ptr<const ObjectMap> map, int group,
           std::span<const std::byte> bytes, std::size_t filled,
           const Staging& staging, StepTimer* timer);
  GroupPut(const GroupPut&) = delete;
  GroupPut& operator=(const GroupPut&) = delete;

  // Begun before more is filled. Ends when all has come, and all is stored that
  // can be. kNoMemory, kTooLarge, kUnavailable: a server refused a block;
  // staged ones are left for the caller to drop.
  net::Task<Status> Run();
  // So many of the bytes are there by now.
  void Fill(std::size_t filled);
  // The rest will not come: Run ends with what it has staged.
  void Abandon();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const ObjectMap& map() const { return *map_; }
  [[nodiscard]] int group() const { return group_.group; }
  [[nodiscard]] const BlockWriter& written() const { return writer_; }

 private:
  void Give(const std::byte* content);
  void OnGiven(layout::BlockId block);

  const std::shared_ptr<const ObjectMap> map_;
  const BlockGroup group_;
  const std::span<const std::byte> bytes_;
  const std::size_t data_blocks_;
  const Staging staging_;
  std::size_t given_ = 0;        // blocks
  std::vector<std::byte> tail_;  // the padded end of the value
  BlockBuffers buffers_;
  const MissingBlocks missing_;
  const std::shared_ptr<const plan::Plan> plan_;
  BlockWriter writer_;
  PlanSteps steps_;
  bool abandoned_ = false;
  net::Latch coming_;  // blocks that Run waits for
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_GROUP_PUT_H_
