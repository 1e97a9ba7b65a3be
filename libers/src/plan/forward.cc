#include "plan/forward.h"

#include "plan/credit.h"

namespace ers::plan {

Rule ForwardRule(const Geometry& geometry, WidthChange change,
                 TransitionVariant variant) {
  if (variant == TransitionVariant::kOptimal) return {};
  // Algorithm 2: every old parity block is read. SRS has no overlap to count on
  // and reads its data.
  const bool ers = geometry.scheme().kind != SchemeKind::kSrs;
  return [&geometry, change, ers](int stripe) -> std::optional<Overlap> {
    if (!ers) return std::nullopt;
    return CreditedTo(geometry, change.from, change.to, stripe);
  };
}

}  // namespace ers::plan
