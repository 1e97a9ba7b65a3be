#include <vector>

#include "plan/planners.h"

namespace ers::plan {

// A new parity block is independent of what is stored: no fewer than k blocks
// of its stripe give it, and any k do, as for one that was lost.
std::optional<Plan> PlanAddParity(const Geometry& geometry, Width width,
                                  int stored, const Missing& missing) {
  std::vector<BlockId> added;
  for (int p = stored; p < geometry.scheme().m; ++p) {
    for (int s = 0; s < geometry.stripe_count(width); ++s) {
      added.push_back(geometry.ParityId(width, s, p));
    }
  }
  return PlanRebuild(geometry, width, added, missing);
}

Plan PlanDropParity(const Geometry& geometry, Width width, int kept) {
  Plan plan;
  for (int p = kept; p < geometry.scheme().m; ++p) {
    for (int s = 0; s < geometry.stripe_count(width); ++s) {
      plan.drops.push_back(geometry.ParityId(width, s, p));
    }
  }
  return plan;
}

}  // namespace ers::plan
