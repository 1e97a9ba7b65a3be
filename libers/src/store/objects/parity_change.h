// More or fewer parity blocks for an object whose data stay where they are.
#ifndef ERS_STORE_OBJECTS_PARITY_CHANGE_H_
#define ERS_STORE_OBJECTS_PARITY_CHANGE_H_

#include <memory>

#include "net/task.h"
#include "store/commit/change.h"
#include "store/commit/planned_groups.h"

namespace ers::store {

// `next` is `base` (not inline) under a scheme with another m and an id of its
// own. Gives it the nodes and generations of that m, and stages the blocks that
// are new, if any. On failure they are left for the caller to drop: `next`
// names them. As RunPlans fails; kInvalidArgument: too few servers, or a
// smaller m. `steps` may be null.
net::Task<PlannedOutcome> StageParity(Session& session,
                                      std::shared_ptr<const Manifest> base,
                                      Manifest& next, StepTimer* steps);

// `check`, and then whether the blocks that `next` keeps can do without the
// servers that are out or not in sync yet: with less parity than before they
// may not. kUnavailable if so. The session outlives it.
Check WithoutDropped(Session& session, std::shared_ptr<const Manifest> next,
                     Check check);

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_PARITY_CHANGE_H_
