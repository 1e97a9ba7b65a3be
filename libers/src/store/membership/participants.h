// What a process tells and asks the others that share its cluster: everything
// that talks to servers about the record of participants. The state is Lease's.
#ifndef ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_
#define ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_

#include <vector>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// OK while this process may go by the view in force, which there must be. Most
// calls cost nothing; one in so many has a heartbeat sent, which nobody
// waits for. After a pause, and at first, the line is put on the members, and
// where others have changed the view meanwhile, theirs is taken over.
// kUnavailable: too few members took it, or another process keeps the view from
// being taken over.
net::Task<Status> EnsureLease(Session& session);

// The end of a change of the view to `next`, which is stored, after no write of
// an earlier one is under way here: true once that is so in every other
// process, too. False: another one has gone on to a later view, and so nobody
// may go by this one.
net::Task<Result<bool>> AwaitParticipants(Session& session, const View& next);

// Takes this process's line back, so that nobody has to wait for it.
net::Task<void> LeaveParticipants(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_
