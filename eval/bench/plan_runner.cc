#include "bench/plan_runner.h"

namespace ers::bench {

void PlanRunner::Run(const plan::Plan& plan, const code::Kernel& kernel,
                     std::span<const std::uint8_t* const> inputs,
                     std::size_t block_bytes) {
  std::size_t count = 0;
  for (const plan::Step& step : plan.steps) count += step.outputs.size();
  if (memory_.size() < count * block_bytes) memory_.resize(count * block_bytes);
  outputs_.clear();
  std::uint8_t* next = memory_.data();
  std::vector<const std::uint8_t*> from;
  std::vector<std::uint8_t*> to;
  for (const plan::Step& step : plan.steps) {
    from.clear();
    to.clear();
    for (const std::uint32_t input : step.inputs) from.push_back(inputs[input]);
    for (const layout::BlockId id : step.outputs) {
      outputs_[id] = next;
      to.push_back(next);
      next += block_bytes;
    }
    kernel.Multiply(step.coefficients, from, to, block_bytes);
  }
}

const std::uint8_t* PlanRunner::Output(layout::BlockId id) const {
  const auto found = outputs_.find(id);
  return found == outputs_.end() ? nullptr : found->second;
}

}  // namespace ers::bench
