#include "plan/credit.h"

#include <algorithm>
#include <utility>

namespace ers::plan {

Overlap CreditedTo(const layout::Geometry& geometry, Width narrower,
                   Width wider, int stripe) {
  auto shared = SharedBlocks(geometry, {narrower, wider}, stripe);
  // max_element keeps the first of equals, and wider stripes ascend.
  return std::move(*std::max_element(shared.begin(), shared.end(),
                                     [](const Overlap& a, const Overlap& b) {
                                       return a.blocks.size() < b.blocks.size();
                                     }));
}

}  // namespace ers::plan
