#include "plan/backward.h"

#include <utility>
#include <vector>

#include "plan/credit.h"

namespace ers::plan {
namespace {

// For each old stripe the new one that its parity updates (line 9 of algorithm
// 4): of the new stripes credited to it the one that shares most with it or,
// against the paper's advice, fewest; the lowest on a tie. All others are
// recalculated from data.
std::vector<std::optional<Overlap>> UpdatedStripes(const Geometry& geometry,
                                                   WidthChange change,
                                                   bool most) {
  const auto& [from, to] = change;
  std::vector<std::optional<Overlap>> updated(
      static_cast<std::size_t>(geometry.stripe_count(from)));
  for (int s = 0; s < geometry.stripe_count(to); ++s) {
    Overlap credited = CreditedTo(geometry, to, from, s);
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

Rule BackwardRule(const Geometry& geometry, WidthChange change,
                  TransitionVariant variant) {
  if (variant == TransitionVariant::kOptimal) return {};
  // As forward: SRS reads its data.
  if (geometry.scheme().kind == SchemeKind::kSrs) {
    return [](int) -> std::optional<Overlap> { return std::nullopt; };
  }
  return [updated = UpdatedStripes(geometry, change,
                                   variant == TransitionVariant::kPaper)](
             int old) { return updated[old]; };
}

}  // namespace ers::plan
