// The blocks that a change staged, or left out, before servers came back.
//
// A backfill of a member goes by what manifests name. What a change has
// staged, no manifest names yet; so a member that became in sync since may lack
// it: it was left out, being away, or it took blocks and has lost its memory. A
// change completes these itself, before it commits.
#ifndef ERS_STORE_COMMIT_STAGED_BLOCKS_H_
#define ERS_STORE_COMMIT_STAGED_BLOCKS_H_

#include <cstdint>
#include <set>

#include "net/task.h"
#include "store/format/manifest.h"
#include "store/format/view.h"
#include "store/membership/session.h"
#include "store/support/step_timer.h"

namespace ers::store {

struct StagedCompletion {
  Status status;
  bool stored = false;  // something was
  // Not OK: what there is to drop in place of `next` where the change is given
  // up, and the members that did not answer or take a block.
  Manifest tried;
  std::set<int> failed_members;
};

// Stores what the blocks of the change `next` lack on members that are not down
// in `view`: blocks that it left out and, on members that returned after
// `first_epoch`, those that are gone. `next` names them afterwards. What
// `replaced` (null: nothing) lacks itself is left to the backfill of its
// member, which is under way then. kUnavailable: it cannot be done now.
net::Task<StagedCompletion> CompleteStaged(Session& session, const View& view,
                                           std::uint64_t first_epoch,
                                           const Manifest* replaced,
                                           Manifest& next, StepTimer* steps);

}  // namespace ers::store

#endif  // ERS_STORE_COMMIT_STAGED_BLOCKS_H_
