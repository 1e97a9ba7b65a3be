// Going on with a lease, and taking it up again after a pause: heartbeats to a
// few members, each in turn. None waits for a member that takes its time. The
// state is Lease's, what goes to one member MemberRecords'.
#ifndef ERS_STORE_MEMBERSHIP_LEASE_RENEWAL_H_
#define ERS_STORE_MEMBERSHIP_LEASE_RENEWAL_H_

#include <cstdint>
#include <memory>

#include "net/task.h"
#include "store/format/view.h"
#include "store/membership/session.h"

namespace ers::store {

// What members showed on the way.
struct Renewal {
  std::uint64_t epoch = 0;  // the newest view
  bool outdated = false;    // a member lacks the view, or has an earlier one
};

// A heartbeat, until all that were asked have answered, or one of them shows a
// later view. The lease goes on if it
// holds now; else others see that this process is there.
net::Task<Renewal> RenewLease(Session& session,
                              std::shared_ptr<const View> view);

// The lease holds, or begins again where it may as it was (Lease::MayResume):
// the entry moves on enough members, and these are read behind that. False:
// this process is to join.
net::Task<bool> HoldOrResume(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_LEASE_RENEWAL_H_
