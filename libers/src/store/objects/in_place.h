// Another width, another m, or both, for an object whose data stay where they
// are: read once, committed once.
#ifndef ERS_STORE_OBJECTS_IN_PLACE_H_
#define ERS_STORE_OBJECTS_IN_PLACE_H_

#include <memory>

#include "ers/scheme.h"
#include "net/task.h"
#include "store/commit/change.h"
#include "store/commit/planned_groups.h"

namespace ers::store {

// `next` is `base` (not inline) with another width, under a scheme with another
// m, or both, and an id of its own. Gives it the nodes and generations of that
// form, and stages the parity that is new, if any. On failure that is left for
// the caller to drop: `next` names it. As RunPlans fails; kInvalidArgument: too
// few servers, or a smaller f. `steps` may be null.
net::Task<PlannedOutcome> StageInPlace(Session& session,
                                       std::shared_ptr<const Manifest> base,
                                       TransitionVariant variant,
                                       Manifest& next, StepTimer* steps);

// `check`, and then whether the blocks that `next` keeps can do without the
// servers that are out or not in sync yet: with less parity than before they
// may not. kUnavailable if so. The session outlives it.
Check WithoutDropped(Session& session, std::shared_ptr<const Manifest> next,
                     Check check);

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_IN_PLACE_H_
