// Which wider stripe a narrower one is credited to: the paper's rule.
#ifndef ERS_PLAN_CREDIT_H_
#define ERS_PLAN_CREDIT_H_

#include "layout/geometry.h"
#include "plan/overlap.h"

namespace ers::plan {

// The stripe of `wider` that holds most of stripe `stripe` of `narrower`, the
// lowest on a tie, and the blocks it shares with it (line 5 of the paper's
// algorithm 2, where the wider stripe is a row).
Overlap CreditedTo(const layout::Geometry& geometry, Width narrower,
                   Width wider, int stripe);

}  // namespace ers::plan

#endif  // ERS_PLAN_CREDIT_H_
