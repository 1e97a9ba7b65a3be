// Puts a plan together from blocks; positions follow by themselves.
#ifndef ERS_PLAN_PLAN_BUILDER_H_
#define ERS_PLAN_PLAN_BUILDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "layout/geometry.h"
#include "plan/plan.h"
#include "plan/planners.h"

namespace ers::plan {

// A column of coefficients that leaves its input out.
bool AllZero(std::span<const std::uint8_t> column);

// One thread. Reads keep the order in which they were first asked for, which
// is the order of the steps that need them: early steps can run early.
class PlanBuilder {
 public:
  // A step under construction, input by input.
  class StepBuilder {
   public:
    // `column`: the coefficients of this input, one per output. A column of
    // zeros is left out and, if nothing else asks for it, the block not read.
    void AddRead(BlockId id, std::span<const std::uint8_t> column);
    void AddGiven(BlockId id, std::span<const std::uint8_t> column);

   private:
    friend class PlanBuilder;
    StepBuilder(PlanBuilder& plan, std::vector<BlockId> outputs);
    void Add(std::uint32_t input, std::span<const std::uint8_t> column);

    PlanBuilder& plan_;
    std::vector<BlockId> outputs_;
    std::vector<std::uint32_t> inputs_;
    std::vector<std::uint8_t> columns_;  // inputs x outputs
  };

  explicit PlanBuilder(const Geometry& geometry);

  // Each block once, whatever the number of calls.
  void Read(BlockId id);
  // Was it asked for already?
  [[nodiscard]] bool Reads(BlockId id) const;
  // Each block once, before any step that uses it.
  void Give(std::span<const BlockId> ids);
  // The step counts from Finish(step) on.
  StepBuilder Begin(std::vector<BlockId> outputs);
  void Finish(StepBuilder step);

  Plan& plan() { return plan_; }
  Plan Build() &&;

 private:
  std::uint32_t ReadPosition(BlockId id);

  Plan plan_;
  std::vector<std::uint32_t> read_position_;   // by block id
  std::vector<std::uint32_t> given_position_;  // by data block id; may be empty
  std::size_t data_blocks_;
};

}  // namespace ers::plan

#endif  // ERS_PLAN_PLAN_BUILDER_H_
