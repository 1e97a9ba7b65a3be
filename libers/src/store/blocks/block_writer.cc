#include "store/blocks/block_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ers::store {
namespace {

using layout::BlockId;
using net::Outcome;

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

BlockWriter::BlockWriter(const BlockGroup& group, std::set<int> failed_members)
    : group_(group),
      under_way_(group.session.runtime()),
      failed_members_(std::move(failed_members)) {}

void BlockWriter::Write(SendStep step, BlockId block, const std::byte* content,
                        const Staging& staging) {
  const std::uint64_t number = group_.map.Number(group_.group, block);
  Transfer& transfer = transfers_.emplace_back();
  transfer.writer = this;
  SetTransfer(group_, step, net::Verb::kSet, block,
              group_.map.KeyOf(staging.generation, number), content, transfer);
  group_.Begin(RequestStep::kSplit);
  transfer.header =
      EncodeBlockHeader({staging.generation, number}, content, transfer.bytes);
  group_.End(RequestStep::kSplit);
  transfer.request.quiet_run = this;
  transfer.request.exptime = staging.exptime;
  transfer.request.body = transfer.item;
  transfer.request.context = &transfer;
  transfer.request.done = [](net::Request& request) {
    auto& done = *static_cast<Transfer*>(request.context);
    done.writer->OnDone(done);
  };
  under_way_.Add();
  group_.Begin(RequestStep::kDistribute);
  SendTransfer(group_.session, transfer);
}

net::Task<void> BlockWriter::StageGiven(const plan::Plan& plan,
                                        const BlockBuffers& buffers,
                                        const Staging& staging) {
  const layout::Geometry& geometry = group_.map.geometry();
  std::vector<std::pair<int, BlockId>> blocks;
  for (const BlockId block : plan.writes) {
    if (!geometry.IsData(block) || stored_.contains(block) ||
        left_out_.contains(block)) {
      continue;
    }
    blocks.emplace_back(geometry.NodeOf(block), block);
  }
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [node, block] = blocks[i];
    Write(SendStep::kStage, block, buffers.Given(block), staging);
    if (i + 1 == blocks.size() || blocks[i + 1].first != node) {
      net::Turn turn(group_.session.runtime());
      co_await turn;
    }
  }
}

void BlockWriter::LeaveOut(const std::vector<BlockId>& blocks) {
  left_out_.insert(blocks.begin(), blocks.end());
}

void BlockWriter::OnDone(Transfer& transfer) {
  if (TakeRepeat(group_.session, transfer)) {
    SendTransfer(group_.session, transfer);
    return;
  }
  Count(transfer);
  group_.End(RequestStep::kDistribute);
  under_way_.CountDown();
}

void BlockWriter::Count(const Transfer& transfer) {
  const Outcome outcome = transfer.request.outcome;
  if (outcome == Outcome::kOk) {
    stored_.insert(transfer.block);
    ++traffic_.writes;
    traffic_.bytes_written += transfer.bytes;
  } else if (!Answered(outcome)) {
    left_out_.insert(transfer.block);
    failed_members_.insert(transfer.member);
  } else if (refusal_.ok()) {
    Session& session = group_.session;
    if (outcome == Outcome::kNoMemory) session.cluster().needs.NoteShortage();
    refusal_ = Refusal(outcome, session.member_name(transfer.member),
                       transfer.request.value, transfer.bytes);
  }
}

}  // namespace ers::store
