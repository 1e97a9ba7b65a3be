// One stripe as the planners see it: its blocks, which of them can be read,
// and their vectors over the stripe's own data symbols.
#ifndef ERS_PLAN_STRIPE_H_
#define ERS_PLAN_STRIPE_H_

#include <optional>
#include <span>
#include <vector>

#include "code/solver.h"
#include "layout/geometry.h"
#include "plan/availability.h"
#include "plan/plan_builder.h"

namespace ers::plan {

// Immutable; refers to the geometry and availability it was made from.
class Stripe {
 public:
  Stripe(const Geometry& geometry, Width width, int index,
         const Availability& availability);

  int index() const { return index_; }
  std::span<const BlockId> data() const { return data_; }
  BlockId parity(int p) const { return geometry_.ParityId(width_, index_, p); }
  // The stripe's parity blocks with the given indices.
  std::vector<BlockId> Parities(std::span<const int> indices) const;
  bool Readable(std::span<const BlockId> blocks) const;

  // Over data(), in its order.
  code::Vector VectorOf(BlockId id) const;

  // Any k blocks of a stripe give all of it. k readable ones, those of
  // `preferred` first, then data, then parity; nullopt if there are fewer.
  std::optional<std::vector<BlockId>> AnyBlocks(
      std::span<const BlockId> preferred) const;

  // For each of `wanted` its coefficients over `reads`. `reads` must span them
  // (asserted).
  std::vector<code::Vector> Express(std::span<const BlockId> reads,
                                    std::span<const code::Vector> wanted) const;

 private:
  const Geometry& geometry_;
  const Availability& availability_;
  Width width_;
  int index_;
  std::span<const BlockId> data_;
};

// Column `input` of combinations given one row per output.
std::vector<std::uint8_t> ColumnOf(std::span<const code::Vector> combinations,
                                   std::size_t input);

// Adds the step that computes `outputs`, blocks of `stripe`, from `reads`.
void AddRecovery(const Stripe& stripe, std::span<const BlockId> reads,
                 const std::vector<BlockId>& outputs, PlanBuilder& builder);

}  // namespace ers::plan

#endif  // ERS_PLAN_STRIPE_H_
