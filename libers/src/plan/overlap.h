// Overlapping blocks of a stripe and a stripe of another width: those that
// parity carries over from the one to the other (sections 2.3 and 3.2 of the
// ERS paper), so that a transition need not read them.
#ifndef ERS_PLAN_OVERLAP_H_
#define ERS_PLAN_OVERLAP_H_

#include <span>
#include <vector>

#include "layout/geometry.h"
#include "plan/planners.h"

namespace ers::plan {

// `blocks` of stripe `source` need not be read to make parity of stripe
// `target`: they have the same part in linear combinations of the source's
// parity blocks as in the target's.
struct Overlap {
  int target = 0;
  std::vector<BlockId> blocks;
};

// Data blocks of stripe `source` of width `change.from`, by stripe of width
// `change.to`, ascending.
std::vector<Overlap> SharedBlocks(const Geometry& geometry, WidthChange change,
                                  int source);

// The largest part of `shared` whose coefficients in the live parities of both
// widths span the same space; `shared` itself for ERS codes, which use one
// matrix for both widths. Other codes are searched: every set of as many
// blocks as there are parities is tried as a basis, up to 20,000 of them,
// beyond that runs of neighbours only.
Overlap LargestOverlap(const Geometry& geometry, WidthChange change,
                       std::span<const int> parities, const Overlap& shared);

}  // namespace ers::plan

#endif  // ERS_PLAN_OVERLAP_H_
