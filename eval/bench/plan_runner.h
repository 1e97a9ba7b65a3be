// Computes a plan's steps on blocks in memory.
#ifndef ERS_EVAL_BENCH_PLAN_RUNNER_H_
#define ERS_EVAL_BENCH_PLAN_RUNNER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "code/kernel.h"
#include "layout/block_id.h"
#include "plan/plan.h"

namespace ers::bench {

// Output blocks of a plan, each in its place of one piece of memory, which is
// kept from one run to the next. One thread.
class PlanRunner {
 public:
  // `inputs` are the blocks of plan.reads and plan.given, in this order, each
  // of block_bytes.
  void Run(const plan::Plan& plan, const code::Kernel& kernel,
           std::span<const std::uint8_t* const> inputs,
           std::size_t block_bytes);

  // The block that the last run computed; nullptr where it did not.
  [[nodiscard]] const std::uint8_t* Output(layout::BlockId id) const;

 private:
  std::vector<std::uint8_t> memory_;
  std::unordered_map<layout::BlockId, std::uint8_t*> outputs_;
};

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_PLAN_RUNNER_H_
