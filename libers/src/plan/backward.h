// To narrower: which old parity a plan goes by.
#ifndef ERS_PLAN_BACKWARD_H_
#define ERS_PLAN_BACKWARD_H_

#include "plan/planners.h"
#include "plan/transition.h"

namespace ers::plan {

// By the paper's algorithm 4. None for the cheapest plan. Refers to
// `geometry`.
Rule BackwardRule(const Geometry& geometry, WidthChange change,
                  TransitionVariant variant);

}  // namespace ers::plan

#endif  // ERS_PLAN_BACKWARD_H_
