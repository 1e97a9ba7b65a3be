// Plans with nothing missing, made once per scheme and unit, and shared: they
// depend on these alone, and every PUT needs one.
#ifndef ERS_PLAN_PLAN_CACHE_H_
#define ERS_PLAN_PLAN_CACHE_H_

#include <memory>

#include "layout/geometry.h"
#include "plan/plan.h"
#include "plan/planners.h"

namespace ers::plan {

// What PlanPut and PlanTransition give for an empty Missing. The last hundred
// or so plans are kept. Any thread.
std::shared_ptr<const Plan> CachedPutPlan(const Geometry& geometry,
                                          Width width);
std::shared_ptr<const Plan> CachedTransitionPlan(const Geometry& geometry,
                                                 const FormChange& change,
                                                 TransitionVariant variant);

}  // namespace ers::plan

#endif  // ERS_PLAN_PLAN_CACHE_H_
