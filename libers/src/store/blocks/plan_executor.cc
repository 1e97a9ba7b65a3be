#include "store/blocks/plan_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "code/kernel.h"
#include "store/blocks/plan_transfer.h"
#include "store/format/expiry.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;

}  // namespace

struct PlanExecutor::StepState {
  std::uint32_t waiting = 0;  // inputs that are still to be read
  bool needs_given = false;
  bool skip = false;  // all its outputs are there already
  bool ran = false;
};

BlockTraffic& BlockTraffic::operator+=(const BlockTraffic& other) {
  data_reads += other.data_reads;
  parity_reads += other.parity_reads;
  writes += other.writes;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  return *this;
}

PlanExecutor::PlanExecutor(Session& session, const ObjectMap& map, int group,
                           bool writing, StepTimer* timer)
    : session_(session),
      timer_(timer),
      map_(map),
      group_(group),
      block_bytes_(map.BlockBytes(group)),
      coming_(session.runtime()),
      reads_(session.runtime()),
      writes_(session.runtime()) {
  const auto ids = static_cast<std::size_t>(map.geometry().block_id_count());
  buffers_.resize(ids);
  fresh_.resize(ids);
  have_.resize(ids);
  done_.resize(ids);
  readers_.resize(ids);
  given_.resize(static_cast<std::size_t>(map.geometry().data_blocks()));
  FindMissing(writing);
}

PlanExecutor::~PlanExecutor() {
  for (BufferPool::Buffer& buffer : owned_) {
    session_.buffers().Return(std::move(buffer));
  }
}

void PlanExecutor::FindMissing(bool writing) {
  const layout::Geometry& geometry = map_.geometry();
  for (int node = 0; node < geometry.node_count(); ++node) {
    const int member = map_.MemberAt(group_, node);
    if (writing ? session_.Writable(member) : session_.Readable(member)) {
      continue;
    }
    missing_.dead_nodes.push_back(node);
    silent_members_.insert(member);
    // Who stays in the view has all that it should.
    if (writing) failed_members_.insert(member);
  }
  const auto whole = [](const GenerationMap& generations) {
    return std::all_of(generations.runs().begin(), generations.runs().end(),
                       [](const auto& run) { return bool(run.generation); });
  };
  if (whole(map_.manifest().data) && whole(map_.manifest().parity)) return;
  for (const BlockId block : geometry.StoredBlocks(map_.width())) {
    if (!map_.GenerationOf(group_, block)) never_staged_.push_back(block);
  }
  missing_.blocks = never_staged_;
}

void PlanExecutor::Place(BlockId block, std::byte* at) { buffers_[block] = at; }

void PlanExecutor::Give(BlockId block, const std::byte* content) {
  given_[block] = content;
  if (awaits_given_ && coming_.count() > 0) OnGiven(block);
}

void PlanExecutor::AwaitGiven() { awaits_given_ = true; }

void PlanExecutor::Abandon() {
  abandoned_ = true;
  while (coming_.count() > 0) coming_.CountDown();
}

const std::byte* PlanExecutor::Have(BlockId block) const {
  return have_[block] ? buffers_[block] : nullptr;
}

std::byte* PlanExecutor::NewBuffer() {
  owned_.push_back(session_.buffers().Take(block_bytes_));
  return owned_.back().bytes.get();
}

std::byte* PlanExecutor::BufferOf(BlockId block) {
  if (buffers_[block] == nullptr) buffers_[block] = NewBuffer();
  return buffers_[block];
}

std::byte* PlanExecutor::FreshBufferOf(BlockId block) {
  if (fresh_[block] == nullptr) fresh_[block] = NewBuffer();
  return fresh_[block];
}

const std::byte* PlanExecutor::InputOf(const plan::Plan& plan,
                                       std::uint32_t input) const {
  if (input < plan.reads.size()) return buffers_[plan.reads[input]];
  return given_[plan.given[input - plan.reads.size()]];
}

// One more input of steps is there.
void PlanExecutor::OnInput(BlockId block) {
  for (const std::uint32_t index : readers_[block]) {
    StepState& state = steps_[index];
    if (--state.waiting == 0 && !state.needs_given && !state.skip) {
      state.ran = true;
      RunStep(*plan_, plan_->steps[index]);
    }
  }
}

void PlanExecutor::PrepareSteps(const plan::Plan& plan) {
  for (auto& readers : readers_) readers.clear();
  steps_.assign(plan.steps.size(), {});
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    const plan::Step& step = plan.steps[i];
    StepState& state = steps_[i];
    for (const std::uint32_t input : step.inputs) {
      if (input >= plan.reads.size()) {
        state.needs_given = !awaits_given_;
        if (!awaits_given_) continue;
        ++state.waiting;
        readers_[plan.given[input - plan.reads.size()]].push_back(i);
      } else if (!have_[plan.reads[input]]) {
        ++state.waiting;
        readers_[plan.reads[input]].push_back(i);
      }
    }
    state.skip = std::all_of(
        step.outputs.begin(), step.outputs.end(), [&](BlockId block) {
          return map_.geometry().IsData(block) ? have_[block] : done_[block];
        });
  }
}

// Computes a step's outputs and stages those that the plan writes. Recovered
// data is stored content; parity is new content.
void PlanExecutor::RunStep(const plan::Plan& plan, const plan::Step& step) {
  std::vector<const std::uint8_t*> inputs;
  inputs.reserve(step.inputs.size());
  for (const std::uint32_t input : step.inputs) {
    inputs.push_back(
        reinterpret_cast<const std::uint8_t*>(InputOf(plan, input)));
  }
  std::vector<std::uint8_t*> outputs;
  outputs.reserve(step.outputs.size());
  for (const BlockId block : step.outputs) {
    outputs.push_back(reinterpret_cast<std::uint8_t*>(
        map_.geometry().IsData(block) ? BufferOf(block)
                                      : FreshBufferOf(block)));
  }
  const Step kind = map_.geometry().IsData(step.outputs.front())
                        ? Step::kDecode
                        : Step::kParity;
  BeginStep(kind);
  code::DefaultKernel().Multiply(step.coefficients, inputs, outputs,
                                 block_bytes_);
  EndStep(kind);
  for (const BlockId block : step.outputs) {
    if (map_.geometry().IsData(block)) {
      have_[block] = true;
      decoded_ = true;
      continue;
    }
    if (done_[block] || staging_ == nullptr) continue;
    done_[block] = true;
    StartStage(SendStep::kStage, block, fresh_[block], staging_->generation,
               staging_->exptime);
  }
}

void PlanExecutor::StageGiven(BlockId block) {
  StartStage(SendStep::kStage, block, given_[block], staging_->generation,
             staging_->exptime);
}

// Node by node, so that the first servers work while the checksums of the next
// ones' blocks are computed.
Task<void> PlanExecutor::StageAllGiven(const plan::Plan& plan) {
  std::vector<std::pair<int, BlockId>> blocks;
  for (const BlockId block : plan.writes) {
    if (!map_.geometry().IsData(block) || staged_.contains(block) ||
        unstaged_.contains(block)) {
      continue;
    }
    blocks.emplace_back(map_.geometry().NodeOf(block), block);
  }
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [node, block] = blocks[i];
    StageGiven(block);
    if (i + 1 == blocks.size() || blocks[i + 1].first != node) {
      net::Turn turn(session_.runtime());
      co_await turn;
    }
  }
}

void PlanExecutor::OnGiven(BlockId block) {
  if (refusal_.ok()) {
    const std::vector<BlockId>& out = plan_->unwritten;
    if (std::find(out.begin(), out.end(), block) == out.end()) {
      StageGiven(block);
    }
    OnInput(block);
  }
  coming_.CountDown();
}

// Until all are given, or no more will be.
Task<void> PlanExecutor::StageAsGiven(const plan::Plan& plan) {
  coming_.Add(static_cast<int>(plan.given.size()));
  for (const BlockId block : plan.given) {
    if (given_[block] != nullptr) OnGiven(block);
  }
  co_await coming_;
}

// False when reads were lost and another plan is needed.
Task<bool> PlanExecutor::RunOnce(const plan::Plan& plan,
                                 const std::function<void()>& supply) {
  plan_ = &plan;
  lost_reads_ = false;
  PrepareSteps(plan);
  next_read_ = 0;
  window_.reset();
  if (staging_ != nullptr && plan.given.empty()) {
    window_.emplace(session_.link_speed(), session_.runtime().Now());
  }
  StartFetches();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    StepState& state = steps_[i];
    if (state.waiting > 0 || state.needs_given || state.skip) continue;
    if (!std::exchange(state.ran, true)) RunStep(plan, plan.steps[i]);
  }
  co_await reads_;
  assert(lost_reads_ || next_read_ == plan.reads.size());
  if (window_) window_->End(session_.runtime().Now());
  if (lost_reads_) co_return false;
  if (supply) supply();
  if (awaits_given_) {
    co_await StageAsGiven(plan);
    if (abandoned_ || !refusal_.ok()) co_return true;
  } else if (staging_ != nullptr) {
    co_await StageAllGiven(plan);
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    StepState& state = steps_[i];
    if (state.skip || std::exchange(state.ran, true)) continue;
    RunStep(plan, plan.steps[i]);
  }
  co_return true;
}

Status PlanExecutor::Shortage(const Planner& planner) const {
  plan::Missing lost;
  lost.blocks = never_staged_;
  for (const BlockId block : gone_) {
    if (std::find(damaged_.begin(), damaged_.end(), block) == damaged_.end()) {
      lost.blocks.push_back(block);
    }
  }
  if (!planner(lost)) {
    return {StatusCode::kNotFound,
            fmt::format("key '{}': more blocks are gone than the redundancy "
                        "can replace",
                        map_.manifest().key)};
  }
  lost.blocks.insert(lost.blocks.end(), damaged_.begin(), damaged_.end());
  if (!planner(lost)) {
    return {StatusCode::kCorruption,
            fmt::format("key '{}': more blocks are damaged or gone than the "
                        "redundancy can replace; delete or overwrite the "
                        "object",
                        map_.manifest().key)};
  }
  std::string silent;
  for (const int member : silent_members_) {
    silent += (silent.empty() ? "" : "; ") + session_.Describe(member);
  }
  return {StatusCode::kUnavailable,
          fmt::format("key '{}': too many servers are silent to read the "
                      "object ({}): start what does not answer",
                      map_.manifest().key, silent)};
}

Task<Status> PlanExecutor::Run(const Planner& planner, const Staging* staging,
                               const std::function<void()>& supply) {
  staging_ = staging;
  for (;;) {
    const std::optional<plan::Plan> plan = planner(missing_);
    if (!plan) {
      co_await writes_;
      co_return Shortage(planner);
    }
    const bool complete = co_await RunOnce(*plan, supply);
    co_await writes_;
    if (!refusal_.ok()) co_return refusal_;
    if (!complete) continue;
    unstaged_.insert(plan->unwritten.begin(), plan->unwritten.end());
    co_return Status();
  }
}

Task<void> PlanExecutor::WriteBack(SendStep step,
                                   std::span<const BlockId> blocks,
                                   const ChangeId& generation) {
  const std::int64_t exptime =
      BlockExptime(map_.manifest().expiry, session_.WallMicros());
  for (const BlockId block : blocks) {
    const std::byte* content = have_[block] ? buffers_[block] : fresh_[block];
    if (content == nullptr) continue;
    StartStage(step, block, content,
               generation ? generation : map_.GenerationOf(group_, block),
               exptime);
  }
  co_await writes_;
}

}  // namespace ers::store
