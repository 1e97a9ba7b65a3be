// Loading, creating and changing the view: everything that talks to servers
// about it. The state itself is ViewKeeper's.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_CHANGER_H_
#define ERS_STORE_MEMBERSHIP_VIEW_CHANGER_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// OK once `member` is out of the view, or is another incarnation. kUnavailable
// where over f members would be not in sync, or fewer than n - f took the view.
net::Task<Status> MarkDown(Session& session, int member, std::string reason);

// Takes members that failed to store blocks out of the view, as far as it
// survives that: changes after this one must not wait for them again. Not those
// that have returned after `epoch`, in which the staging began: what they lack
// is stored before the commit.
net::Task<void> MarkFailed(Session& session, std::uint64_t epoch,
                           std::set<int> members);

// OK once `member`, which was down, is backfilling: with a new incarnation, so
// that all it held of manifests is void, and as a replica of its keys, so that
// every change from now on has to be there, too. OK as well where it was
// not down. kUnavailable: it does not answer, or too few members took the view.
// `may_return`, if any, is asked by the mark of the memory that it has, and
// what it says is the answer where that is not OK.
using MayReturn = std::function<Status(int, const std::string& boot_mark)>;
net::Task<Status> BeginBackfill(Session& session, int member,
                                MayReturn may_return = {});

// OK once `member`, backfilling since that incarnation, is in sync: it has all
// that it should. kUnavailable where it has left meanwhile, and otherwise as
// above.
net::Task<Status> EndBackfill(Session& session, int member,
                              std::uint64_t incarnation);

// OK once the newest view that the members know is in force, when another
// process has changed it. kUnavailable as above.
net::Task<Status> FollowView(Session& session);

// OK once every object that was last changed before `time_us` (Unix
// microseconds) is absent, from that time on; or, with kAtOnce, every object
// that was there before this ends: that goes by no clock. No flush takes
// another one back, in effect or to come. kOutcomeUnknown: some members may
// have taken it. A view must be in force.
net::Task<Status> FlushBefore(Session& session, std::uint64_t time_us);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_CHANGER_H_
