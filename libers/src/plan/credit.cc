#include "plan/credit.h"

#include <algorithm>
#include <utility>

namespace ers::plan {

Overlap CreditedRow(const layout::Geometry& geometry, int narrow_stripe) {
  auto shared = SharedBlocks(geometry, Width::kNarrow, narrow_stripe);
  // max_element keeps the first of equals, and rows ascend.
  return std::move(*std::max_element(shared.begin(), shared.end(),
                                     [](const Overlap& a, const Overlap& b) {
                                       return a.blocks.size() < b.blocks.size();
                                     }));
}

}  // namespace ers::plan
