// Loading the view: what every operation does first.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_LOADER_H_
#define ERS_STORE_MEMBERSHIP_VIEW_LOADER_H_

#include <string_view>

#include "ers/status.h"
#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// OK once a view is in force, and this process may go by it. Reads the record
// of n - f members and takes the highest epoch, also against the state file's.
// Where the cluster was never used: creates the first view with f = the cluster
// option or `max_failures`; when both are 0, kNotFound. Members that were
// restarted meanwhile leave. kUnavailable, kIncompatible, kUnsupportedFormat
// otherwise.
net::Task<Status> EnsureView(Session& session, int max_failures);

// The same for an operation on what `key` holds: checks the key first, and
// kNotFound names it.
net::Task<Status> EnsureViewFor(Session& session, std::string_view key);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_LOADER_H_
