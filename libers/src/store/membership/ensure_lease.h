// This process's leave to act under the view: getting it, and keeping it.
#ifndef ERS_STORE_MEMBERSHIP_ENSURE_LEASE_H_
#define ERS_STORE_MEMBERSHIP_ENSURE_LEASE_H_

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// OK while this process may go by the view in force, which there must be. Most
// calls cost nothing; one in so many has a heartbeat sent, which no call waits
// for. After a pause the process's entry moves on a few members; at first, and
// after a longer one, it is put on all; and where others have changed the view
// meanwhile, theirs is taken over.
// kUnavailable: too few members took it, or another process keeps the view from
// being taken over.
net::Task<Status> EnsureLease(Session& session);
// The same, of what is no call: a process that rests goes on resting.
net::Task<Status> EnsureLeaseAtRest(Session& session);

// Has a heartbeat sent, if one is due, in a process that knows a view: so the
// lease goes on between two calls, and others see a process that rests, which
// has no lease, and take nothing for its end.
void GiveHeartbeat(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_ENSURE_LEASE_H_
