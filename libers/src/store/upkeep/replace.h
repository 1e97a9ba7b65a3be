// Giving a member's slot to another server.
#ifndef ERS_STORE_UPKEEP_REPLACE_H_
#define ERS_STORE_UPKEEP_REPLACE_H_

#include <string>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// OK once `new_server` has the slot that `old_server` had, and is backfilling;
// also where that was so already. It keeps the slot's place on the ring, so
// that no other block moves; what it lacks is for Backfill. kInvalidArgument:
// the one is no member, the other is one, or holds items. kNotFound: the
// cluster was never used. kConflict: another process has replaced the server by
// a third one. kUnavailable: the new one does not answer, too few others are in
// sync, or too few could be reached.
net::Task<Status> ReplaceServer(Session& session, std::string old_server,
                                std::string new_server);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_REPLACE_H_
