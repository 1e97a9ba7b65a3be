#include "store/blocks/block_reader.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ers::store {

using layout::BlockId;
using net::Outcome;

BlockReader::BlockReader(const BlockGroup& group, const plan::Plan& plan,
                         const Parts& parts)
    : group_(group),
      plan_(plan),
      parts_(parts),
      block_bytes_(group.block_bytes()),
      under_way_(group.session.runtime()) {}

void BlockReader::Start(Ahead ahead) {
  Session& session = group_.session;
  if (ahead == Ahead::kWindow) {
    window_.emplace(session.link_speed(), session.runtime().Now());
  }
  AskForMore();
}

bool BlockReader::Finish() {
  assert(lost_ || next_ == plan_.reads.size());
  if (window_) window_->End(group_.session.runtime().Now());
  return !lost_;
}

void BlockReader::AskForMore() {
  const std::vector<BlockId>& reads = plan_.reads;
  while (next_ < reads.size() && !lost_) {
    if (window_ && !window_->IsOpen() && !NextSharesStep()) return;
    const BlockId block = reads[next_++];
    if (parts_.buffers.Have(block) == nullptr) Ask(block);
  }
}

// Does the same step wait for the next block and the one before?
bool BlockReader::NextSharesStep() const {
  return next_ > 0 &&
         parts_.steps.ShareStep(plan_.reads[next_ - 1], plan_.reads[next_]);
}

void BlockReader::Ask(BlockId block) {
  Transfer& transfer = transfers_.emplace_back();
  transfer.reader = this;
  SetTransfer(group_, SendStep::kReadBlock, net::Verb::kGet, block,
              group_.map.KeyOf(group_.group, block),
              parts_.buffers.ForStored(block), transfer);
  transfer.request.into = transfer.item;
  transfer.request.context = &transfer;
  transfer.request.done = [](net::Request& request) {
    auto& done = *static_cast<Transfer*>(request.context);
    done.reader->OnDone(done);
  };
  if (window_) {
    window_->Asked(block_bytes_);
    transfer.request.on_placed = [](net::Request& request) {
      auto& coming = *static_cast<Transfer*>(request.context);
      coming.reader->OnPlaced(coming);
    };
  }
  under_way_.Add();
  group_.Begin(Step::kRead);
  Send(transfer);
}

void BlockReader::Send(Transfer& transfer) {
  if (window_) {
    transfer.asked_at = group_.session.runtime().Now();
    window_->AskedAgain(std::exchange(transfer.counted, 0));
  }
  SendTransfer(group_.session, transfer);
}

void BlockReader::OnPlaced(Transfer& transfer) {
  const net::TimePoint now = group_.session.runtime().Now();
  if (transfer.counted == 0) window_->Travelled(now - transfer.asked_at);
  const std::size_t came = std::min(transfer.request.placed, block_bytes_);
  window_->Came(came - std::exchange(transfer.counted, came), now);
  AskForMore();
}

void BlockReader::OnDone(Transfer& transfer) {
  if (TakeRepeat(group_.session, transfer)) {
    Send(transfer);
    return;
  }
  CountRest(transfer);
  Take(transfer);
  AskForMore();
  group_.End(Step::kRead);
  under_way_.CountDown();
}

// Of one that has ended. After one that failed no more is asked for.
void BlockReader::CountRest(const Transfer& transfer) {
  if (!window_ || transfer.request.outcome != Outcome::kOk) return;
  window_->Came(block_bytes_ - transfer.counted,
                group_.session.runtime().Now());
}

void BlockReader::Take(const Transfer& transfer) {
  const Outcome outcome = transfer.request.outcome;
  const BlockId block = transfer.block;
  const ObjectMap& map = group_.map;
  const BlockHeader expected{map.GenerationOf(group_.group, block),
                             map.Number(group_.group, block)};
  if (outcome == Outcome::kOk &&
      VerifyBlock(expected, transfer.header, parts_.buffers.ForStored(block),
                  block_bytes_)) {
    parts_.buffers.SetRead(block);
    BlockTraffic& traffic = parts_.traffic;
    ++(map.geometry().IsData(block) ? traffic.data_reads
                                    : traffic.parity_reads);
    traffic.bytes_read += block_bytes_;
    parts_.steps.OnInput(block);
    return;
  }
  lost_ = true;
  if (outcome == Outcome::kMiss) {
    parts_.missing.SetGone(block);
  } else if (outcome == Outcome::kOk || outcome == Outcome::kWrongSize) {
    parts_.missing.SetDamaged(block);
  } else {
    parts_.missing.SetSilent(block, transfer.member);
  }
}

}  // namespace ers::store
