// Running one plan for every group of an object: what transitions that move no
// data block have in common.
#ifndef ERS_STORE_COMMIT_PLANNED_GROUPS_H_
#define ERS_STORE_COMMIT_PLANNED_GROUPS_H_

#include "net/task.h"
#include "store/blocks/plan_executor.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"

namespace ers::store {

struct PlannedOutcome {
  Status status;
  BlockTraffic traffic;
};

// Reads by `map` and stages under next.id what `planner`'s plans write; what
// could not be put on its member counts as never stored in `next`, whose
// generations name all that the plans write, and whose blocks have the numbers
// that they have in `map`. Members that failed leave the view. kUnavailable
// where too little redundancy is left in `next`, also because blocks that stay
// turned out to be gone. All arguments outlive the task; `steps` may be null.
net::Task<PlannedOutcome> RunPlans(Session& session, const ObjectMap& map,
                                   const Planner& planner, Manifest& next,
                                   StepTimer* steps);

}  // namespace ers::store

#endif  // ERS_STORE_COMMIT_PLANNED_GROUPS_H_
