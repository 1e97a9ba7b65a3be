#include "store/blocks/block_transfer.h"

#include <utility>

namespace ers::store {
namespace {

iovec Piece(const void* bytes, std::size_t size) {
  return {const_cast<void*>(bytes), size};
}

}  // namespace

void SetTransfer(const BlockGroup& group, SendStep step, net::Verb verb,
                 layout::BlockId block, std::string key,
                 const std::byte* payload, BlockTransfer& transfer) {
  transfer.step = step;
  transfer.block = block;
  transfer.member = group.map.MemberOf(group.group, block);
  transfer.bytes = group.BlockBytes(block);
  transfer.key = std::move(key);
  transfer.item = {Piece(transfer.header.data(), transfer.header.size()),
                   Piece(payload, transfer.bytes)};
  transfer.request.verb = verb;
  transfer.request.key = transfer.key;
}

void SendTransfer(Session& session, BlockTransfer& transfer) {
  transfer.request.outcome = net::Outcome::kPending;
  Send(session.runtime(), transfer.step, session.link(transfer.member),
       transfer.request);
}

bool TakeRepeat(Session& session, BlockTransfer& transfer) {
  if (Answered(transfer.request.outcome) || transfer.repeated) return false;
  const net::ServerLink::State state = session.link(transfer.member).state();
  transfer.repeated = state == net::ServerLink::State::kUp ||
                      state == net::ServerLink::State::kConnecting;
  return transfer.repeated;
}

}  // namespace ers::store
