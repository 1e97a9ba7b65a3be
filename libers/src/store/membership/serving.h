// Whether this process can serve what is stored, and if not, why.
#ifndef ERS_STORE_MEMBERSHIP_SERVING_H_
#define ERS_STORE_MEMBERSHIP_SERVING_H_

#include <string>
#include <vector>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// OK where a view is in force, this process may go by it, and at most f members
// are out; also in a cluster that was never used yet, if servers enough for a
// first view answer. Takes the view that is stored, if there is one; creates
// none. kIncompatible: the servers, a weight or f are not those of the cluster.
net::Task<Status> CheckServing(Session& session);

// True: there is no view, here or on the servers, of which no more than f are
// silent. So nothing was ever stored, or nothing of it is left.
net::Task<Result<bool>> IsUnused(Session& session);

// Why each server does not answer, or is refused, as it has lost its memory, as
// far as this loop's connections show; empty where neither is so.
std::vector<std::string> UnreachableBecause(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_SERVING_H_
