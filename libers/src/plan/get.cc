#include <map>
#include <utility>

#include "plan/availability.h"
#include "plan/columns.h"
#include "plan/plan_builder.h"
#include "plan/planners.h"
#include "plan/stripe.h"

namespace ers::plan {

std::optional<Plan> PlanGet(const Geometry& geometry, Width width,
                            std::span<const BlockId> wanted,
                            const Missing& missing) {
  if (geometry.in_columns()) {
    const auto cells =
        PlanGet(geometry.cells(), width, CellsOf(geometry, wanted),
                CellsOf(geometry, missing));
    return cells ? std::optional(InColumns(geometry, *cells)) : std::nullopt;
  }
  const Availability availability(geometry, missing);
  PlanBuilder builder(geometry);
  std::map<int, std::vector<BlockId>> absent;  // wanted ones, by stripe
  std::vector<char> seen(geometry.data_blocks(), 0);
  for (const BlockId id : wanted) {
    if (seen[id]++ != 0) continue;
    if (availability.Readable(id)) {
      builder.Read(id);
    } else {
      absent[geometry.StripeOf(id, width)].push_back(id);
    }
  }
  // A missing block takes k others of its stripe, whichever they are: those
  // that are wanted anyway come for free.
  for (const auto& [s, outputs] : absent) {
    const Stripe stripe(geometry, width, s, availability);
    std::vector<BlockId> preferred;
    for (const BlockId id : stripe.data()) {
      if (seen[id] != 0) preferred.push_back(id);
    }
    const auto reads = stripe.AnyBlocks(preferred);
    if (!reads) return std::nullopt;
    AddRecovery(stripe, *reads, outputs, builder);
  }
  return std::move(builder).Build();
}

}  // namespace ers::plan
