#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "plan/availability.h"
#include "plan/columns.h"
#include "plan/plan_builder.h"
#include "plan/planners.h"
#include "plan/stripe.h"

namespace ers::plan {

std::optional<Plan> PlanRebuild(const Geometry& geometry, Width width,
                                std::span<const BlockId> lost,
                                const Missing& missing) {
  if (geometry.in_columns()) {
    const auto cells =
        PlanRebuild(geometry.cells(), width, CellsOf(geometry, lost),
                    CellsOf(geometry, missing));
    return cells ? std::optional(InColumns(geometry, *cells)) : std::nullopt;
  }
  const Availability availability(geometry, missing, lost);
  PlanBuilder builder(geometry);
  Plan& plan = builder.plan();
  std::map<int, std::vector<BlockId>> by_stripe;
  for (const BlockId id : lost) {
    if (!availability.Writable(id)) {
      plan.unwritten.push_back(id);
      continue;
    }
    auto& outputs = by_stripe[geometry.Info(id, width).stripe];
    if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) {
      continue;
    }
    outputs.push_back(id);
    plan.writes.push_back(id);
  }
  // No block of a stripe follows from fewer than k others.
  for (const auto& [s, outputs] : by_stripe) {
    const Stripe stripe(geometry, width, s, availability);
    const auto reads = stripe.AnyBlocks({});
    if (!reads) return std::nullopt;
    AddRecovery(stripe, *reads, outputs, builder);
  }
  return std::move(builder).Build();
}

}  // namespace ers::plan
