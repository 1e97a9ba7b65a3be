// To wider: which old parity a plan goes by.
#ifndef ERS_PLAN_FORWARD_H_
#define ERS_PLAN_FORWARD_H_

#include "plan/planners.h"
#include "plan/transition.h"

namespace ers::plan {

// By the paper's algorithm 2. None for the cheapest plan. Refers to
// `geometry`.
Rule ForwardRule(const Geometry& geometry, WidthChange change,
                 TransitionVariant variant);

}  // namespace ers::plan

#endif  // ERS_PLAN_FORWARD_H_
