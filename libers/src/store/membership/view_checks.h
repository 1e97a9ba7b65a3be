// What loading and changing the view have in common.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_CHECKS_H_
#define ERS_STORE_MEMBERSHIP_VIEW_CHECKS_H_

#include <string_view>

#include "ers/scheme.h"
#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// The slots must be those of the view in force; where there is none yet, those
// of the servers that this process was given.
Status CheckMembers(const Session& session, ClusterState& cluster,
                    const View& view);

// OK, or kInvalidArgument: the scheme takes more servers than there are.
Status CheckMemberCount(const Session& session, const Scheme& scheme);

// Two addresses of one server would be taken for two servers.
Status CheckDistinct(const View& view);

// Fails where more than f are not in sync, and says which and why.
Status CheckTolerated(const Session& session, const View& view);

// The error where no server is in sync that has the manifest of this key.
Status AllReplicasOut(const Session& session, const View& view,
                      std::string_view key);

// The error for a server that was to come back, and does not answer `link`.
Status NoReturn(const Session& session, const net::ServerLink& link);

// The error for a record that `link`'s server has, and IsOtherFormat.
Status OtherFormat(const net::ServerLink& link, const Status& why);

// Waits while others change the view of this process, no longer than an
// operation may take.
net::Task<void> AwaitChange(Session& session);

// Waits until this task alone may change the view of this process.
net::Task<void> ClaimChange(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_CHECKS_H_
