// PlanSteps: what a plan computes, each sum as soon as its inputs are there.
// Of a column several sums are made: it is there with the last one.
#ifndef ERS_STORE_BLOCKS_PLAN_STEPS_H_
#define ERS_STORE_BLOCKS_PLAN_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "store/blocks/block_buffers.h"
#include "store/blocks/block_group.h"
#include "store/blocks/block_writer.h"

namespace ers::store {

// Of one run of a plan. Recovered data is stored content; parity is new
// content, and goes to its member at once. Loop thread only.
class PlanSteps {
 public:
  // When the given blocks that steps need are there.
  enum class Given {
    kAtTheEnd,  // before RunRest
    kOneByOne,  // OnInput is called for each
  };
  // All that is given here outlives it. `staging` is null for plans without
  // writes.
  PlanSteps(const BlockGroup& group, const plan::Plan& plan, Given given,
            BlockBuffers& buffers, BlockWriter& writer, const Staging* staging);

  // Those that wait for nothing.
  void RunReady();
  // One more input of steps is there.
  void OnInput(layout::BlockId block);
  // Those that are left: all inputs are there.
  void RunRest();
  // Does the same step wait for both first of all?
  [[nodiscard]] bool ShareStep(layout::BlockId one,
                               layout::BlockId other) const;

 private:
  struct State {
    std::uint32_t waiting = 0;  // inputs that are still to come
    bool needs_given = false;
    bool skip = false;  // all its outputs are there already
    bool ran = false;
    // The first of those that are run together with it, and wait as one.
    std::uint32_t leader = 0;
  };

  void Prepare(Given given);
  void AwaitInput(std::uint32_t step, layout::BlockId block);
  void Lead(std::uint32_t leader);
  void Run(const plan::Step& step);
  void OnMade(layout::BlockId block);
  [[nodiscard]] const std::byte* InputOf(std::uint32_t input) const;

  const BlockGroup group_;
  const plan::Plan& plan_;
  BlockBuffers& buffers_;
  BlockWriter& writer_;
  const Staging* const staging_;
  const std::size_t cell_bytes_;
  std::vector<State> states_;                        // by step
  std::vector<std::vector<std::uint32_t>> readers_;  // steps, by block id
  std::vector<std::uint32_t> to_make_;               // steps, by block id
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_PLAN_STEPS_H_
