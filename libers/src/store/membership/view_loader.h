// Loading the view: what every operation does first.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_LOADER_H_
#define ERS_STORE_MEMBERSHIP_VIEW_LOADER_H_

#include <string_view>

#include "ers/scheme.h"
#include "ers/status.h"
#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// OK once a view is in force, and this process may go by it. Reads the record
// of n - f members and takes the highest epoch, also against the state file's.
// Where the cluster was never used: creates the first view with f = the cluster
// option or the m of `first`, the scheme of what is to be stored, which
// outlives the task; kNotFound where there is neither, and kInvalidArgument
// where no value of `first` could be stored then. Members that were restarted
// meanwhile leave. kUnavailable, kIncompatible, kUnsupportedFormat otherwise.
net::Task<Status> EnsureView(Session& session, const Scheme* first = nullptr);

// The same for an operation on what `key` holds: checks the key first, and
// kNotFound names it.
net::Task<Status> EnsureViewFor(Session& session, std::string_view key);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_LOADER_H_
