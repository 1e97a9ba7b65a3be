// BlockTransfer: one block on its way from or to its member.
#ifndef ERS_STORE_BLOCKS_BLOCK_TRANSFER_H_
#define ERS_STORE_BLOCKS_BLOCK_TRANSFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ers/object_info.h"
#include "net/request.h"
#include "store/blocks/block_group.h"
#include "store/format/block_header.h"
#include "store/membership/send.h"

namespace ers::store {

// Stays where it is once it was sent. The request's `context` and `done` are
// its owner's.
struct BlockTransfer {
  SendStep step = SendStep::kReadBlock;
  layout::BlockId block = 0;
  int member = 0;
  bool repeated = false;
  std::size_t bytes = 0;  // of the payload
  std::string key;
  BlockHeaderBytes header;
  std::array<iovec, 2> item;  // header and payload
  net::Request request;
};

// The block's payload is at `payload`, and its item has the key `key`.
void SetTransfer(const BlockGroup& group, SendStep step, net::Verb verb,
                 layout::BlockId block, std::string key,
                 const std::byte* payload, BlockTransfer& transfer);

void SendTransfer(Session& session, BlockTransfer& transfer);

// Of one that has ended: is it to be sent once more? A connection that only
// broke is made again; reads, and the writes of blocks that never change, may
// be repeated. True once.
bool TakeRepeat(Session& session, BlockTransfer& transfer);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_BLOCK_TRANSFER_H_
