#include <utility>
#include <vector>

#include "plan/column_transition.h"
#include "plan/columns.h"
#include "plan/credit.h"
#include "plan/planners.h"
#include "plan/transition.h"

namespace ers::plan {
namespace {

// For each row the stripe that its old parity updates (line 9 of algorithm 4):
// of the stripes credited to it the one that shares most with it or, against
// the paper's advice, fewest; the lowest on a tie. All others are recalculated
// from data.
std::vector<std::optional<Overlap>> UpdatedStripes(const Geometry& geometry,
                                                   bool most) {
  std::vector<std::optional<Overlap>> updated(geometry.rows());
  for (int s = 0; s < geometry.stripe_count(Width::kNarrow); ++s) {
    Overlap credited = CreditedRow(geometry, s);
    auto& kept = updated[credited.target];
    const std::size_t size = credited.blocks.size();
    if (!kept ||
        (most ? size > kept->blocks.size() : size < kept->blocks.size())) {
      kept = Overlap{s, std::move(credited.blocks)};
    }
  }
  return updated;
}

}  // namespace

std::optional<Plan> PlanBackward(const Geometry& geometry,
                                 TransitionVariant variant,
                                 const Missing& missing) {
  if (geometry.in_columns()) {
    return PlanColumnTransition(
        geometry, Width::kWide, missing, [&](const Missing& cells) {
          return PlanBackward(geometry.cells(), variant, cells);
        });
  }
  Rule rule;
  if (variant != TransitionVariant::kOptimal) {
    // As forward: SRS reads its data.
    if (geometry.scheme().kind == SchemeKind::kSrs) {
      rule = [](int) -> std::optional<Overlap> { return std::nullopt; };
    } else {
      rule = [updated = UpdatedStripes(
                  geometry, variant == TransitionVariant::kPaper)](int row) {
        return updated[row];
      };
    }
  }
  return PlanTransition(geometry, Width::kWide, missing, rule);
}

}  // namespace ers::plan
