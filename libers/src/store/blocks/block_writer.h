// BlockWriter: stores blocks of a group on their members, and knows what came
// of each.
#ifndef ERS_STORE_BLOCKS_BLOCK_WRITER_H_
#define ERS_STORE_BLOCKS_BLOCK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <vector>

#include "net/task.h"
#include "plan/plan.h"
#include "store/blocks/block_buffers.h"
#include "store/blocks/block_group.h"
#include "store/blocks/block_transfer.h"
#include "store/format/change_id.h"

namespace ers::store {

// How blocks are stored.
struct Staging {
  ChangeId generation;
  std::int64_t exptime = 0;  // memcached's
};

// Awaited once all are begun, and before it goes. Loop thread only.
class BlockWriter {
 public:
  // `failed_members`: those that blocks of the group cannot be put on.
  BlockWriter(const BlockGroup& group, std::set<int> failed_members);

  // Begins to store a block; `content` stays until this was awaited.
  void Write(SendStep step, layout::BlockId block, const std::byte* content,
             const Staging& staging);
  // The data blocks that `plan` writes, as they are given. Node by node, so
  // that the first servers work while the checksums of the next ones' blocks
  // are computed.
  net::Task<void> StageGiven(const plan::Plan& plan,
                             const BlockBuffers& buffers,
                             const Staging& staging);
  // Blocks of the new state that are not even begun.
  void LeaveOut(const std::vector<layout::BlockId>& blocks);
  // Until all are stored, or are known not to be.
  auto operator co_await() { return under_way_.operator co_await(); }

  [[nodiscard]] const std::set<layout::BlockId>& stored() const {
    return stored_;
  }
  // Blocks of the new state that could not be put on their member.
  [[nodiscard]] const std::set<layout::BlockId>& left_out() const {
    return left_out_;
  }
  [[nodiscard]] const std::set<int>& failed_members() const {
    return failed_members_;
  }
  // Why a server that answers did not take a block; OK: all took theirs.
  // kNoMemory, kTooLarge: it ends the change.
  [[nodiscard]] const Status& refusal() const { return refusal_; }
  [[nodiscard]] const BlockTraffic& traffic() const { return traffic_; }

 private:
  struct Transfer : BlockTransfer {
    BlockWriter* writer = nullptr;
  };

  void OnDone(Transfer& transfer);
  void Count(const Transfer& transfer);

  const BlockGroup group_;
  std::list<Transfer> transfers_;
  net::Latch under_way_;
  std::set<layout::BlockId> stored_;
  std::set<layout::BlockId> left_out_;
  std::set<int> failed_members_;
  Status refusal_;
  BlockTraffic traffic_;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_BLOCK_WRITER_H_
