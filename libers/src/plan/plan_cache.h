// Plans with nothing missing, made once per scheme and shared: they depend on
// the scheme alone, and every PUT needs one.
#ifndef ERS_PLAN_PLAN_CACHE_H_
#define ERS_PLAN_PLAN_CACHE_H_

#include <memory>

#include "ers/scheme.h"
#include "plan/plan.h"
#include "plan/planners.h"

namespace ers::plan {

// What PlanPut, PlanForward and PlanBackward give for an empty Missing. The
// last hundred or so plans are kept. `scheme` must satisfy ValidateScheme
// (asserted), and be elastic for transitions. Any thread.
std::shared_ptr<const Plan> CachedPutPlan(const Scheme& scheme, Width width);
std::shared_ptr<const Plan> CachedForwardPlan(const Scheme& scheme,
                                              TransitionVariant variant);
std::shared_ptr<const Plan> CachedBackwardPlan(const Scheme& scheme,
                                               TransitionVariant variant);

}  // namespace ers::plan

#endif  // ERS_PLAN_PLAN_CACHE_H_
