// The view as it is, for calls that change nothing: not the record, not the
// state file, not what this process goes by.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_PROBE_H_
#define ERS_STORE_MEMBERSHIP_VIEW_PROBE_H_

#include <memory>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// The newest of the view in force in this process, the members' and the state
// file's. kNotFound: the cluster was never used.
// kUnavailable: fewer than n - f members answer.
net::Task<Result<std::shared_ptr<const View>>> ReadNewestView(Session& session);

// The same view, without the members that do not answer this process now, or
// that answer with another memory: what it would be once they are missed.
// kUnavailable: more than f are out.
Result<std::shared_ptr<const View>> WithoutSilent(
    Session& session, const std::shared_ptr<const View>& view);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_PROBE_H_
