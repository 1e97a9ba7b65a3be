#include "ers/transition_counts.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "layout/geometry.h"
#include "plan/planners.h"

namespace ers {

Result<TransitionCounts> CountTransition(const Scheme& scheme, Width from,
                                         Width to, Unit unit) {
  Status valid = ValidateStoredScheme(scheme);
  if (!valid.ok()) return Fail(std::move(valid));
  if (!scheme.elastic() || from == to || !HasWidth(scheme, from) ||
      !HasWidth(scheme, to)) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} has no two such widths: name two of its own",
                            FormatScheme(scheme)));
  }
  const layout::Geometry geometry(scheme, unit);
  // With nothing missing there is always a plan.
  const plan::Plan plan = *plan::PlanTransition(
      geometry, {from, to}, TransitionVariant::kOptimal, {});
  const auto blocks = [&geometry, unit](const auto& ids) {
    int count = 0;
    for (const layout::BlockId id : ids) {
      count += unit == Unit::kColumns ? geometry.cell_count(id) : 1;
    }
    return count;
  };
  return TransitionCounts{blocks(plan.reads), blocks(plan.writes)};
}

}  // namespace ers
