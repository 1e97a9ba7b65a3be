// The backfilling of all servers that came back, for a program that waits for
// it.
#ifndef ERS_STORE_UPKEEP_REBUILD_H_
#define ERS_STORE_UPKEEP_REBUILD_H_

#include "ers/rebuild.h"
#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// Looks who came back, fills whom it can, and says who is out still. OK where
// somebody is in sync now or nobody was out. kUnavailable: nobody could be
// filled, or it could not be finished; what was done stays done. `options`
// outlive the task.
net::Task<Result<RebuildReport>> Rebuild(Session& session,
                                         const RebuildOptions& options);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_REBUILD_H_
