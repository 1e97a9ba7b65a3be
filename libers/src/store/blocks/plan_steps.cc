#include "store/blocks/plan_steps.h"

#include <algorithm>
#include <utility>

#include "code/kernel.h"

namespace ers::store {

using layout::BlockId;

PlanSteps::PlanSteps(const BlockGroup& group, const plan::Plan& plan,
                     Given given, BlockBuffers& buffers, BlockWriter& writer,
                     const Staging* staging)
    : group_(group),
      plan_(plan),
      buffers_(buffers),
      writer_(writer),
      staging_(staging),
      states_(plan.steps.size()),
      readers_(
          static_cast<std::size_t>(group.map.geometry().block_id_count())) {
  Prepare(given);
}

void PlanSteps::Prepare(Given given) {
  const std::vector<BlockId>& reads = plan_.reads;
  const layout::Geometry& geometry = group_.map.geometry();
  for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
    const plan::Step& step = plan_.steps[i];
    State& state = states_[i];
    for (const std::uint32_t input : step.inputs) {
      if (input >= reads.size()) {
        state.needs_given = given == Given::kAtTheEnd;
        if (state.needs_given) continue;
        ++state.waiting;
        readers_[plan_.given[input - reads.size()]].push_back(i);
      } else if (buffers_.Have(reads[input]) == nullptr) {
        ++state.waiting;
        readers_[reads[input]].push_back(i);
      }
    }
    state.skip = std::all_of(
        step.outputs.begin(), step.outputs.end(), [&](BlockId block) {
          return geometry.IsData(block) ? buffers_.Have(block) != nullptr
                                        : buffers_.IsSent(block);
        });
  }
}

void PlanSteps::RunReady() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (state.waiting > 0 || state.needs_given || state.skip) continue;
    if (!std::exchange(state.ran, true)) Run(plan_.steps[i]);
  }
}

void PlanSteps::OnInput(BlockId block) {
  for (const std::uint32_t index : readers_[block]) {
    State& state = states_[index];
    if (--state.waiting == 0 && !state.needs_given && !state.skip) {
      state.ran = true;
      Run(plan_.steps[index]);
    }
  }
}

void PlanSteps::RunRest() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (state.skip || std::exchange(state.ran, true)) continue;
    Run(plan_.steps[i]);
  }
}

bool PlanSteps::ShareStep(BlockId one, BlockId other) const {
  const auto& first = readers_[one];
  const auto& second = readers_[other];
  return !first.empty() && !second.empty() && first.front() == second.front();
}

const std::byte* PlanSteps::InputOf(std::uint32_t input) const {
  const std::vector<BlockId>& reads = plan_.reads;
  if (input < reads.size()) return buffers_.Have(reads[input]);
  return buffers_.Given(plan_.given[input - reads.size()]);
}

void PlanSteps::Run(const plan::Step& step) {
  const layout::Geometry& geometry = group_.map.geometry();
  std::vector<const std::uint8_t*> inputs;
  inputs.reserve(step.inputs.size());
  for (const std::uint32_t input : step.inputs) {
    inputs.push_back(reinterpret_cast<const std::uint8_t*>(InputOf(input)));
  }
  std::vector<std::uint8_t*> outputs;
  outputs.reserve(step.outputs.size());
  for (const BlockId block : step.outputs) {
    outputs.push_back(reinterpret_cast<std::uint8_t*>(
        geometry.IsData(block) ? buffers_.ForStored(block)
                               : buffers_.ForParity(block)));
  }
  const RequestStep kind = geometry.IsData(step.outputs.front())
                               ? RequestStep::kDecode
                               : RequestStep::kParity;
  group_.Begin(kind);
  code::DefaultKernel().Multiply(step.coefficients, inputs, outputs,
                                 buffers_.block_bytes());
  group_.End(kind);
  for (const BlockId block : step.outputs) {
    if (geometry.IsData(block)) {
      buffers_.SetHave(block);
      continue;
    }
    if (buffers_.IsSent(block) || staging_ == nullptr) continue;
    buffers_.SetSent(block);
    writer_.Write(SendStep::kStage, block, buffers_.ForParity(block),
                  *staging_);
  }
}

}  // namespace ers::store
