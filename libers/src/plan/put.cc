#include <numeric>
#include <utility>

#include "plan/availability.h"
#include "plan/columns.h"
#include "plan/plan_builder.h"
#include "plan/planners.h"
#include "plan/stripe.h"

namespace ers::plan {

Plan PlanPut(const Geometry& geometry, Width width, const Missing& missing) {
  if (geometry.in_columns()) {
    return InColumns(
        geometry, PlanPut(geometry.cells(), width, CellsOf(geometry, missing)));
  }
  const Availability availability(geometry, missing);
  PlanBuilder builder(geometry);
  Plan& plan = builder.plan();
  std::vector<BlockId> all(geometry.data_blocks());
  std::iota(all.begin(), all.end(), 0);
  builder.Give(all);
  for (const BlockId id : geometry.StoredBlocks(width)) {
    (availability.Writable(id) ? plan.writes : plan.unwritten).push_back(id);
  }

  const auto& parities = availability.live_parities();
  if (parities.empty()) return std::move(builder).Build();
  std::vector<std::uint8_t> column(parities.size());
  for (int s = 0; s < geometry.stripe_count(width); ++s) {
    const Stripe stripe(geometry, width, s, availability);
    auto step = builder.Begin(stripe.Parities(parities));
    for (const BlockId id : stripe.data()) {
      for (std::size_t i = 0; i < parities.size(); ++i) {
        column[i] = geometry.Coefficient(id, width, parities[i]);
      }
      step.AddGiven(id, column);
    }
    builder.Finish(std::move(step));
  }
  return std::move(builder).Build();
}

}  // namespace ers::plan
