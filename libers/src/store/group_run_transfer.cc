// GroupRun's blocks on their way: in which order they are asked for, what came
// of each, and what a server's refusal means.
#include "store/group_run_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ers::store {
namespace {

// What is on its way at least of reads that stages wait for: enough to keep
// answers coming while the next request travels.
constexpr std::size_t kWindowBytes = std::size_t{96} << 10;

using layout::BlockId;
using net::Outcome;

iovec Piece(const void* bytes, std::size_t size) {
  return {const_cast<void*>(bytes), size};
}

// A refusal that ends the whole change.
Status Refusal(Outcome outcome, const std::string& server,
               const std::string& text, std::size_t bytes) {
  switch (outcome) {
    case Outcome::kNoMemory:
      return {StatusCode::kNoMemory,
              fmt::format("{} has no memory for a block of {} bytes: give it "
                          "more (-m), store less, or wait: what long values "
                          "replaced goes within about a minute",
                          server, bytes)};
    case Outcome::kTooLarge:
      return {StatusCode::kTooLarge,
              fmt::format("{} refuses a block of {} bytes as too large: raise "
                          "its item limit (-I)",
                          server, bytes)};
    default:
      return {StatusCode::kUnavailable,
              fmt::format("{} refuses a block: {}", server, text)};
  }
}

}  // namespace

// A connection that only broke is made again, and the request repeated once;
// reads and the immutable blocks' writes may be.
bool GroupRun::MayRetry(int member) const {
  const net::ServerLink::State state = session_.link(member).state();
  return state == net::ServerLink::State::kUp ||
         state == net::ServerLink::State::kConnecting;
}

GroupRun::Transfer& GroupRun::NewTransfer(SendStep step, net::Verb verb,
                                          BlockId block, std::string key,
                                          const std::byte* payload) {
  Transfer& transfer = transfers_.emplace_back();
  transfer.run = this;
  transfer.step = step;
  transfer.block = block;
  transfer.member = map_.MemberOf(group_, block);
  transfer.key = std::move(key);
  transfer.item = {Piece(transfer.header.data(), transfer.header.size()),
                   Piece(payload, block_bytes_)};
  transfer.request.verb = verb;
  transfer.request.key = transfer.key;
  transfer.request.context = &transfer;
  transfer.request.done = [](net::Request& request) {
    auto& done = *static_cast<Transfer*>(request.context);
    done.run->OnDone(done);
  };
  return transfer;
}

void GroupRun::SendOut(Transfer& transfer) {
  transfer.request.outcome = Outcome::kPending;
  bytes_coming_ += std::exchange(transfer.told, 0);
  store::Send(session_.runtime(), transfer.step, session_.link(transfer.member),
              transfer.request);
}

void GroupRun::OnDone(Transfer& transfer) {
  if (!Answered(transfer.request.outcome) && !transfer.retried &&
      MayRetry(transfer.member)) {
    transfer.retried = true;
    SendOut(transfer);
  } else if (transfer.request.verb == net::Verb::kGet) {
    bytes_coming_ -= block_bytes_ - transfer.told;
    OnFetched(transfer);
    StartFetches();
    EndStep(Step::kRead);
    reads_.CountDown();
  } else {
    OnStaged(transfer);
    EndStep(Step::kDistribute);
    writes_.CountDown();
  }
}

// All at once if nothing is staged. Otherwise so that a part of what is left is
// on its way: blocks then come in the order of the steps, and not those of the
// first stripe beside those of the last, which would hold all parity up until
// all is read. The part is smaller towards the end, where order counts most.
void GroupRun::StartFetches() {
  const std::vector<BlockId>& reads = plan_->reads;
  while (next_read_ < reads.size() && !lost_reads_) {
    const std::size_t left =
        (reads.size() - next_read_) * block_bytes_ + bytes_coming_;
    const std::size_t window = std::max(kWindowBytes, left / 4);
    if (staging_ != nullptr && bytes_coming_ >= window) return;
    const BlockId block = reads[next_read_++];
    if (!have_[block]) StartFetch(block);
  }
}

void GroupRun::OnPlaced(Transfer& fetch) {
  const std::size_t came = std::min(fetch.request.placed, block_bytes_);
  bytes_coming_ -= came - std::exchange(fetch.told, came);
  StartFetches();
}

void GroupRun::StartFetch(BlockId block) {
  Transfer& fetch = NewTransfer(SendStep::kReadBlock, net::Verb::kGet, block,
                                map_.KeyOf(group_, block), BufferOf(block));
  fetch.request.into = fetch.item;
  if (staging_ != nullptr) {
    fetch.request.on_placed = [](net::Request& request) {
      auto& coming = *static_cast<Transfer*>(request.context);
      coming.run->OnPlaced(coming);
    };
  }
  bytes_coming_ += block_bytes_;
  reads_.Add();
  BeginStep(Step::kRead);
  SendOut(fetch);
}

void GroupRun::OnFetched(const Transfer& fetch) {
  const Outcome outcome = fetch.request.outcome;
  const BlockId block = fetch.block;
  const BlockHeader expected{map_.GenerationOf(group_, block),
                             map_.Number(group_, block)};
  if (outcome == Outcome::kOk &&
      VerifyBlock(expected, fetch.header, buffers_[block], block_bytes_)) {
    have_[block] = true;
    (map_.geometry().IsData(block) ? traffic_.data_reads
                                   : traffic_.parity_reads)++;
    traffic_.bytes_read += block_bytes_;
    OnInput(block);
    return;
  }
  lost_reads_ = true;
  missing_.blocks.push_back(block);
  const bool gone = outcome == Outcome::kOk || outcome == Outcome::kMiss ||
                    outcome == Outcome::kWrongSize;
  if (gone) {
    gone_.push_back(block);
    if (outcome != Outcome::kMiss) damaged_.push_back(block);
  } else {
    silent_members_.insert(fetch.member);
  }
}

void GroupRun::StartStage(SendStep step, BlockId block,
                          const std::byte* content, const ChangeId& generation,
                          std::int64_t exptime) {
  const std::uint64_t number = map_.Number(group_, block);
  Transfer& stage =
      NewTransfer(step, net::Verb::kSet, block,
                  BlockKey(map_.key_hash(), generation, number), content);
  BeginStep(Step::kSplit);
  stage.header = EncodeBlockHeader({generation, number}, content, block_bytes_);
  EndStep(Step::kSplit);
  stage.request.quiet_run = this;
  stage.request.exptime = exptime;
  stage.request.body = stage.item;
  writes_.Add();
  BeginStep(Step::kDistribute);
  SendOut(stage);
}

void GroupRun::OnStaged(const Transfer& stage) {
  const Outcome outcome = stage.request.outcome;
  if (outcome == Outcome::kOk) {
    staged_.insert(stage.block);
    ++traffic_.writes;
    traffic_.bytes_written += block_bytes_;
  } else if (!Answered(outcome)) {
    unstaged_.insert(stage.block);
    failed_members_.insert(stage.member);
  } else if (refusal_.ok()) {
    refusal_ = Refusal(outcome, session_.member_name(stage.member),
                       stage.request.value, block_bytes_);
  }
}

}  // namespace ers::store
