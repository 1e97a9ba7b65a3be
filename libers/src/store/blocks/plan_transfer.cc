// PlanExecutor's blocks on their way: in which order they are asked for, what
// came of each, and what a server's refusal means.
#include "store/blocks/plan_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ers::store {
namespace {

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
bool PlanExecutor::MayRetry(int member) const {
  const net::ServerLink::State state = session_.link(member).state();
  return state == net::ServerLink::State::kUp ||
         state == net::ServerLink::State::kConnecting;
}

PlanExecutor::Transfer& PlanExecutor::NewTransfer(SendStep step, net::Verb verb,
                                                  BlockId block,
                                                  std::string key,
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

void PlanExecutor::SendOut(Transfer& transfer) {
  transfer.request.outcome = Outcome::kPending;
  if (window_) {
    transfer.asked_at = session_.runtime().Now();
    window_->AskedAgain(std::exchange(transfer.told, 0));
  }
  store::Send(session_.runtime(), transfer.step, session_.link(transfer.member),
              transfer.request);
}

void PlanExecutor::OnDone(Transfer& transfer) {
  if (!Answered(transfer.request.outcome) && !transfer.retried &&
      MayRetry(transfer.member)) {
    transfer.retried = true;
    SendOut(transfer);
  } else if (transfer.request.verb == net::Verb::kGet) {
    CountRest(transfer);
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

// Does the same step wait for the plan's next read and the one before?
bool PlanExecutor::SharesStep() const {
  if (next_read_ == 0) return false;
  const auto& before = readers_[plan_->reads[next_read_ - 1]];
  const auto& next = readers_[plan_->reads[next_read_]];
  return !before.empty() && !next.empty() && before.front() == next.front();
}

void PlanExecutor::StartFetches() {
  const std::vector<BlockId>& reads = plan_->reads;
  while (next_read_ < reads.size() && !lost_reads_) {
    if (window_ && !window_->IsOpen() && !SharesStep()) return;
    const BlockId block = reads[next_read_++];
    if (!have_[block]) StartFetch(block);
  }
}

void PlanExecutor::OnPlaced(Transfer& fetch) {
  const net::TimePoint now = session_.runtime().Now();
  if (fetch.told == 0) window_->Travelled(now - fetch.asked_at);
  const std::size_t came = std::min(fetch.request.placed, block_bytes_);
  window_->Came(came - std::exchange(fetch.told, came), now);
  StartFetches();
}

// Of a fetch that has ended. After one that failed no more is asked for.
void PlanExecutor::CountRest(const Transfer& fetch) {
  if (!window_ || fetch.request.outcome != Outcome::kOk) return;
  window_->Came(block_bytes_ - fetch.told, session_.runtime().Now());
}

void PlanExecutor::StartFetch(BlockId block) {
  Transfer& fetch = NewTransfer(SendStep::kReadBlock, net::Verb::kGet, block,
                                map_.KeyOf(group_, block), BufferOf(block));
  fetch.request.into = fetch.item;
  if (window_) {
    window_->Asked(block_bytes_);
    fetch.request.on_placed = [](net::Request& request) {
      auto& coming = *static_cast<Transfer*>(request.context);
      coming.run->OnPlaced(coming);
    };
  }
  reads_.Add();
  BeginStep(Step::kRead);
  SendOut(fetch);
}

void PlanExecutor::OnFetched(const Transfer& fetch) {
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

void PlanExecutor::StartStage(SendStep step, BlockId block,
                              const std::byte* content,
                              const ChangeId& generation,
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

void PlanExecutor::OnStaged(const Transfer& stage) {
  const Outcome outcome = stage.request.outcome;
  if (outcome == Outcome::kOk) {
    staged_.insert(stage.block);
    ++traffic_.writes;
    traffic_.bytes_written += block_bytes_;
  } else if (!Answered(outcome)) {
    unstaged_.insert(stage.block);
    failed_members_.insert(stage.member);
  } else if (refusal_.ok()) {
    if (outcome == Outcome::kNoMemory) {
      session_.cluster().needs.NoteShortage();
    }
    refusal_ = Refusal(outcome, session_.member_name(stage.member),
                       stage.request.value, block_bytes_);
  }
}

}  // namespace ers::store
