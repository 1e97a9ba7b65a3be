#include "store/blocks/plan_executor.h"

#include <optional>
#include <set>
#include <utility>

#include "store/blocks/plan_steps.h"
#include "store/format/expiry.h"

namespace ers::store {

using layout::BlockId;
using net::Task;

// What is to be staged fails at once on members that are out: those that stay
// in the view have all that they should.
PlanExecutor::PlanExecutor(const BlockGroup& group, BlockBuffers& buffers,
                           const Staging* staging)
    : group_(group),
      buffers_(buffers),
      staging_(staging),
      missing_(group, /*writing=*/staging != nullptr),
      writer_(group, staging != nullptr ? missing_.silent_members()
                                        : std::set<int>()) {}

Task<BlockReader::End> PlanExecutor::RunOnce(
    const plan::Plan& plan, Hedge& hedge, const std::function<void()>& supply) {
  PlanSteps steps(group_, plan, PlanSteps::Given::kAtTheEnd, buffers_, writer_,
                  staging_);
  BlockReader reader(group_, plan, {buffers_, steps, missing_, reads_, hedge});
  reader.Start(staging_ != nullptr && plan.given.empty()
                   ? BlockReader::Ahead::kWindow
                   : BlockReader::Ahead::kAll);
  steps.RunReady();
  co_await reader;
  const BlockReader::End end = reader.Finish();
  if (end != BlockReader::End::kWhole) co_return end;
  if (supply) supply();
  if (staging_ != nullptr) {
    co_await writer_.StageGiven(plan, buffers_, *staging_);
  }
  steps.RunRest();
  co_return end;
}

Task<Status> PlanExecutor::Run(const Planner& planner,
                               const std::function<void()>& supply) {
  Hedge hedge(group_, buffers_, missing_, planner);
  std::optional<plan::Plan> plan = hedge.Begin();
  for (;;) {
    if (!plan) {
      co_await writer_;
      co_return missing_.Shortage(planner);
    }
    const BlockReader::End end = co_await RunOnce(*plan, hedge, supply);
    co_await writer_;
    if (!writer_.refusal().ok()) co_return writer_.refusal();
    if (end == BlockReader::End::kWhole) {
      degraded_ = missing_.RecoveredBy(*plan);
      writer_.LeaveOut(plan->unwritten);
      co_return Status();
    }
    plan = end == BlockReader::End::kReplaced ? hedge.Take() : hedge.Begin();
  }
}

Task<void> PlanExecutor::WriteBack(SendStep step,
                                   std::span<const BlockId> blocks,
                                   const ChangeId& generation) {
  const ObjectMap& map = group_.map;
  const std::int64_t exptime =
      BlockExptime(map.manifest().expiry, group_.session.WallMicros());
  for (const BlockId block : blocks) {
    const std::byte* content = buffers_.HaveOrComputed(block);
    if (content == nullptr) continue;
    const Staging staging{
        generation ? generation : map.GenerationOf(group_.group, block),
        exptime};
    writer_.Write(step, block, content, staging);
  }
  co_await writer_;
}

BlockTraffic PlanExecutor::traffic() const {
  BlockTraffic traffic = reads_;
  return traffic += writer_.traffic();
}

}  // namespace ers::store
