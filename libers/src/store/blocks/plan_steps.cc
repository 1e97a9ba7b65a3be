#include "store/blocks/plan_steps.h"

#include <algorithm>
#include <optional>
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
      cell_bytes_(group.map.CellBytes(group.group)),
      states_(plan.steps.size()),
      readers_(static_cast<std::size_t>(group.map.geometry().block_id_count())),
      to_make_(readers_.size()) {
  Prepare(given);
}

// Once, however many of its cells are inputs.
void PlanSteps::AwaitInput(std::uint32_t step, BlockId block) {
  std::vector<std::uint32_t>& readers = readers_[block];
  if (std::find(readers.begin(), readers.end(), step) != readers.end()) return;
  ++states_[step].waiting;
  readers.push_back(step);
}

// In columns, what recovers data is run all at once: a read of the same column,
// which was late or is damaged, may come between two sums.
void PlanSteps::Prepare(Given given) {
  const std::vector<BlockId>& reads = plan_.reads;
  const layout::Geometry& geometry = group_.map.geometry();
  std::optional<std::uint32_t> recovery;
  for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
    const plan::Step& step = plan_.steps[i];
    State& state = states_[i];
    state.skip = std::all_of(
        step.outputs.begin(), step.outputs.end(), [&](BlockId block) {
          return geometry.IsData(block) ? buffers_.Have(block) != nullptr
                                        : buffers_.IsSent(block);
        });
    state.leader = i;
    if (geometry.in_columns() && geometry.IsData(step.outputs.front())) {
      if (!recovery) recovery = i;
      state.leader = *recovery;
    }
    State& leader = states_[state.leader];
    for (const std::uint32_t input : step.inputs) {
      if (input >= reads.size()) {
        leader.needs_given = given == Given::kAtTheEnd;
        if (leader.needs_given) continue;
        AwaitInput(state.leader, plan_.given[input - reads.size()]);
      } else if (buffers_.Have(reads[input]) == nullptr) {
        AwaitInput(state.leader, reads[input]);
      }
    }
    for (const BlockId block : step.outputs) ++to_make_[block];
  }
}

void PlanSteps::RunReady() {
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    if (states_[i].waiting == 0 && !states_[i].needs_given) Lead(i);
  }
}

void PlanSteps::OnInput(BlockId block) {
  for (const std::uint32_t leader : readers_[block]) {
    State& state = states_[leader];
    if (--state.waiting == 0 && !state.needs_given) Lead(leader);
  }
}

void PlanSteps::RunRest() {
  for (std::uint32_t i = 0; i < states_.size(); ++i) Lead(i);
}

// Runs those that `leader` leads, once.
void PlanSteps::Lead(std::uint32_t leader) {
  const bool alone = !group_.map.geometry().in_columns();
  const std::size_t end = alone ? leader + 1 : states_.size();
  for (std::size_t i = leader; i < end; ++i) {
    State& state = states_[i];
    if (state.leader != leader || state.skip) continue;
    if (!std::exchange(state.ran, true)) Run(plan_.steps[i]);
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
  const auto at = [this](int cell) {
    return static_cast<std::size_t>(cell) * cell_bytes_;
  };
  std::vector<const std::uint8_t*> inputs;
  inputs.reserve(step.inputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const std::byte* input = InputOf(step.inputs[i]) + at(step.InputCell(i));
    inputs.push_back(reinterpret_cast<const std::uint8_t*>(input));
  }
  std::vector<std::uint8_t*> outputs;
  outputs.reserve(step.outputs.size());
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const BlockId block = step.outputs[i];
    std::byte* output = geometry.IsData(block) ? buffers_.ForStored(block)
                                               : buffers_.ForParity(block);
    outputs.push_back(
        reinterpret_cast<std::uint8_t*>(output + at(step.OutputCell(i))));
  }
  const RequestStep kind = geometry.IsData(step.outputs.front())
                               ? RequestStep::kDecode
                               : RequestStep::kParity;
  group_.Begin(kind);
  code::DefaultKernel().Multiply(step.coefficients, inputs, outputs,
                                 at(step.cells));
  group_.End(kind);
  for (const BlockId block : step.outputs) {
    if (--to_make_[block] == 0) OnMade(block);
  }
}

void PlanSteps::OnMade(BlockId block) {
  if (group_.map.geometry().IsData(block)) {
    buffers_.SetHave(block);
    return;
  }
  if (buffers_.IsSent(block) || staging_ == nullptr) return;
  buffers_.SetSent(block);
  writer_.Write(SendStep::kStage, block, buffers_.ForParity(block), *staging_);
}

}  // namespace ers::store
