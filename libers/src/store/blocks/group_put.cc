#include "store/blocks/group_put.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plan/plan_cache.h"
#include "plan/planners.h"

namespace ers::store {
namespace {

using layout::BlockId;

std::shared_ptr<const plan::Plan> PlanFor(const ObjectMap& map,
                                          const plan::Missing& missing) {
  if (missing.dead_nodes.empty()) {
    return plan::CachedPutPlan(map.geometry(), map.width());
  }
  return std::make_shared<const plan::Plan>(
      plan::PlanPut(map.geometry(), map.width(), missing));
}

}  // namespace

GroupPut::GroupPut(Session& session, std::shared_ptr<const ObjectMap> map,
                   int group, std::span<const std::byte> bytes,
                   std::size_t filled, const Staging& staging, StepTimer* timer)
    : map_(std::move(map)),
      group_{session, *map_, group, timer},
      bytes_(bytes),
      data_blocks_(static_cast<std::size_t>(map_->geometry().data_blocks())),
      staging_(staging),
      buffers_(session.buffers(), *map_, group),
      missing_(group_, /*writing=*/true),
      plan_(PlanFor(*map_, missing_.all())),
      writer_(group_, missing_.silent_members()),
      steps_(group_, *plan_,
             filled < bytes.size() ? PlanSteps::Given::kOneByOne
                                   : PlanSteps::Given::kAtTheEnd,
             buffers_, writer_, &staging_),
      coming_(session.runtime()) {
  Fill(filled);
}

// Those blocks that lie whole in the value are taken from there; the rest are
// padded with zeros.
void GroupPut::Fill(std::size_t filled) {
  const InStep split(group_.timer, RequestStep::kSplit);
  const std::size_t block = buffers_.data_bytes();
  while (given_ < data_blocks_ && (given_ + 1) * block <= filled) {
    Give(bytes_.data() + given_ * block);
  }
  if (filled < bytes_.size() || given_ == data_blocks_) return;
  const std::size_t whole = given_ * block;
  tail_.resize(2 * block);
  if (whole < bytes_.size()) {
    std::memcpy(tail_.data(), bytes_.data() + whole, bytes_.size() - whole);
  }
  Give(tail_.data());
  while (given_ < data_blocks_) Give(tail_.data() + block);
}

void GroupPut::Give(const std::byte* content) {
  const auto block = static_cast<BlockId>(given_++);
  buffers_.Give(block, content);
  if (coming_.count() > 0) OnGiven(block);
}

void GroupPut::OnGiven(BlockId block) {
  if (writer_.refusal().ok()) {
    const std::vector<BlockId>& out = plan_->unwritten;
    if (std::find(out.begin(), out.end(), block) == out.end()) {
      writer_.Write(SendStep::kStage, block, buffers_.Given(block), staging_);
    }
    steps_.OnInput(block);
  }
  coming_.CountDown();
}

void GroupPut::Abandon() {
  abandoned_ = true;
  while (coming_.count() > 0) coming_.CountDown();
}

// A value that is there is staged node by node; one that comes leaves as it
// does, parity as soon as its stripe is there.
net::Task<Status> GroupPut::Run() {
  if (given_ == data_blocks_) {
    co_await writer_.StageGiven(*plan_, buffers_, staging_);
    steps_.RunRest();
  } else {
    coming_.Add(static_cast<int>(data_blocks_));
    for (std::size_t block = 0; block < given_; ++block) {
      OnGiven(static_cast<BlockId>(block));
    }
    co_await coming_;
    if (!abandoned_ && writer_.refusal().ok()) steps_.RunRest();
  }
  co_await writer_;
  if (!writer_.refusal().ok()) co_return writer_.refusal();
  writer_.LeaveOut(plan_->unwritten);
  co_return Status();
}

}  // namespace ers::store
