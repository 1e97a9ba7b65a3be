// Of what changes of the view are made.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_EDIT_H_
#define ERS_STORE_MEMBERSHIP_VIEW_EDIT_H_

#include <functional>
#include <string>
#include <vector>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// Makes the next view of one, which may be newer than that in force. A failure
// leaves the view as it is.
using Edit = std::function<Result<View>(View)>;

// The view after `next`, without those of `leaving`, and with writes in doubt,
// that are the same servers as in the view in force. kUnavailable: over f are
// out.
Result<View> Without(Session& session, View next, std::vector<int> leaving);

// The view after `next` in which `member` is backfilled: with the memory of
// `boot_mark`, and all that it held before void. kUnavailable as Without;
// kInvalidArgument where two members have the same memory.
Result<View> WithBackfill(Session& session, View next, int member,
                          const std::string& boot_mark);

// What `edit` makes of `base`, or that itself if it is all there already.
Result<View> Edited(const Edit& edit, const View& base);

// The barrier of a change: OK when no admitted manifest write is under way but
// those to `leaving` and to members with writes in doubt. Else the change is
// over.
net::Task<Status> Drain(Session& session, std::vector<int> leaving);

// Ends the change that was begun: with the view that `edit` makes, or none.
net::Task<Status> Install(Session& session, const Edit& edit);

// Drains, then installs: ends a change of the view that ClaimChange has begun:
// OK once what `edit` makes is in force. What is under way to those of
// `leaving` is not waited for.
net::Task<Status> ChangeAll(Session& session, const Edit& edit,
                            std::vector<int> leaving = {});

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_EDIT_H_
