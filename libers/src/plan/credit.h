// Which row a narrow stripe is credited to: the paper's rule.
#ifndef ERS_PLAN_CREDIT_H_
#define ERS_PLAN_CREDIT_H_

#include "layout/geometry.h"
#include "plan/overlap.h"

namespace ers::plan {

// The row that holds most of `narrow_stripe`, the lowest on a tie, and the
// blocks it shares with it (line 5 of the paper's algorithm 2).
Overlap CreditedRow(const layout::Geometry& geometry, int narrow_stripe);

}  // namespace ers::plan

#endif  // ERS_PLAN_CREDIT_H_
