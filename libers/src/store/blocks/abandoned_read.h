// Reads of blocks that nothing waits for: any more, or from the start.
#ifndef ERS_STORE_BLOCKS_ABANDONED_READ_H_
#define ERS_STORE_BLOCKS_ABANDONED_READ_H_

#include <memory>

#include "net/runtime.h"
#include "store/blocks/block_group.h"
#include "store/blocks/block_transfer.h"

namespace ers::store {

// A read that may outlive what it was begun for.
struct BlockRead : BlockTransfer {
  virtual ~BlockRead() = default;

  net::TimePoint asked_at;
  net::Duration patience{};  // LateServers::Patience, when it was asked for
  bool late = false;         // reported by LateServers::OnLate
};

// `read` is under way. Nothing is written to its payload's memory from now on,
// and it ends by itself. The session outlives it.
void Abandon(Session& session, std::unique_ptr<BlockRead> read);

// Asks for a block of a slow member, to see whether it still is slow.
void ProbeByRead(const BlockGroup& group, layout::BlockId block);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_ABANDONED_READ_H_
