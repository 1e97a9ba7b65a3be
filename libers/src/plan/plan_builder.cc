#include "plan/plan_builder.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ers::plan {
namespace {

constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
// Marks a position within `given` until the number of reads is known.
constexpr std::uint32_t kGiven = 1U << 31;

}  // namespace

bool AllZero(std::span<const std::uint8_t> column) {
  return std::all_of(column.begin(), column.end(),
                     [](std::uint8_t cell) { return cell == 0; });
}

PlanBuilder::StepBuilder::StepBuilder(PlanBuilder& plan,
                                      std::vector<BlockId> outputs)
    : plan_(plan), outputs_(std::move(outputs)) {}

void PlanBuilder::StepBuilder::AddRead(BlockId id,
                                       std::span<const std::uint8_t> column) {
  if (AllZero(column)) return;
  Add(plan_.ReadPosition(id), column);
}

void PlanBuilder::StepBuilder::AddGiven(BlockId id,
                                        std::span<const std::uint8_t> column) {
  const std::uint32_t position = plan_.given_position_[id];
  assert(position != kNone);
  Add(position | kGiven, column);
}

void PlanBuilder::StepBuilder::Add(std::uint32_t input,
                                   std::span<const std::uint8_t> column) {
  assert(column.size() == outputs_.size());
  inputs_.push_back(input);
  columns_.insert(columns_.end(), column.begin(), column.end());
}

PlanBuilder::PlanBuilder(const Geometry& geometry)
    : read_position_(geometry.block_id_count(), kNone),
      data_blocks_(geometry.data_blocks()) {}

std::uint32_t PlanBuilder::ReadPosition(BlockId id) {
  std::uint32_t& position = read_position_[id];
  if (position == kNone) {
    position = static_cast<std::uint32_t>(plan_.reads.size());
    plan_.reads.push_back(id);
  }
  return position;
}

void PlanBuilder::Read(BlockId id) { ReadPosition(id); }

bool PlanBuilder::Reads(BlockId id) const {
  return read_position_[id] != kNone;
}

void PlanBuilder::Give(std::span<const BlockId> ids) {
  given_position_.resize(data_blocks_, kNone);
  for (const BlockId id : ids) {
    assert(id < data_blocks_);
    if (given_position_[id] != kNone) continue;
    given_position_[id] = static_cast<std::uint32_t>(plan_.given.size());
    plan_.given.push_back(id);
  }
}

PlanBuilder::StepBuilder PlanBuilder::Begin(std::vector<BlockId> outputs) {
  return {*this, std::move(outputs)};
}

void PlanBuilder::Finish(StepBuilder step) {
  Step& made = plan_.steps.emplace_back();
  const std::size_t inputs = step.inputs_.size();
  const std::size_t outputs = step.outputs_.size();
  made.inputs = std::move(step.inputs_);
  made.outputs = std::move(step.outputs_);
  made.coefficients.resize(inputs * outputs);
  for (std::size_t c = 0; c < inputs; ++c) {
    for (std::size_t r = 0; r < outputs; ++r) {
      made.coefficients[r * inputs + c] = step.columns_[c * outputs + r];
    }
  }
}

Plan PlanBuilder::Build() && {
  const auto reads = static_cast<std::uint32_t>(plan_.reads.size());
  for (Step& step : plan_.steps) {
    for (std::uint32_t& input : step.inputs) {
      if ((input & kGiven) != 0) input = (input & ~kGiven) + reads;
    }
  }
  return std::move(plan_);
}

}  // namespace ers::plan
