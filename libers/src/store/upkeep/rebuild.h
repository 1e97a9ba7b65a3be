// The backfilling of all servers that came back, for a program that waits for
// it.
#ifndef ERS_STORE_UPKEEP_REBUILD_H_
#define ERS_STORE_UPKEEP_REBUILD_H_

#include "ers/rebuild.h"
#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// Finds the servers that came back, backfills those that it can, and reports
// those that are out still. OK where one of them is in sync now or none was
// out. kUnavailable: none could be backfilled, or it could not be finished;
// what was done stays done. `options` outlive the task.
net::Task<Result<RebuildReport>> Rebuild(Session& session,
                                         const RebuildOptions& options);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_REBUILD_H_
