#include "plan/column_transition.h"
#include "plan/columns.h"
#include "plan/credit.h"
#include "plan/planners.h"
#include "plan/transition.h"

namespace ers::plan {

std::optional<Plan> PlanForward(const Geometry& geometry,
                                TransitionVariant variant,
                                const Missing& missing) {
  if (geometry.in_columns()) {
    return PlanColumnTransition(
        geometry, Width::kNarrow, missing, [&](const Missing& cells) {
          return PlanForward(geometry.cells(), variant, cells);
        });
  }
  Rule rule;
  if (variant != TransitionVariant::kOptimal) {
    // Algorithm 2: every old parity block is read. SRS has no overlap to
    // count on and reads its data.
    const bool ers = geometry.scheme().kind != SchemeKind::kSrs;
    rule = [&geometry, ers](int stripe) -> std::optional<Overlap> {
      if (!ers) return std::nullopt;
      return CreditedRow(geometry, stripe);
    };
  }
  return PlanTransition(geometry, Width::kNarrow, missing, rule);
}

}  // namespace ers::plan
