// Going on where more than f are out: probing all servers, and making the
// view that is to follow. The rules are in memory_loss.h.
#ifndef ERS_STORE_MEMBERSHIP_LOSS_ROUND_H_
#define ERS_STORE_MEMBERSHIP_LOSS_ROUND_H_

#include <optional>
#include <vector>

#include "net/task.h"
#include "store/membership/memory_loss.h"
#include "store/membership/session.h"
#include "store/membership/succession.h"

namespace ers::store {

// Are more than f members out, as far as this loop's connections show? Costs
// nothing.
bool MoreThanMaxOut(Session& session);

// Probes all servers, and goes on with those that lost their memory. OK where a
// view is in force now under which at most f are out, also where another
// process has made it. kUnavailable: some do not answer, or others of which
// this process does not know may still act under the earlier view; to be called
// again. Says the same as the last time where that was just now.
net::Task<Status> GoOnAfterLoss(Session& session);

// Empty servers that are to have the slots of dead ones.
using Successions = std::vector<Succession>;

// What all servers answer with, and the newest view that any of them knows.
struct ServerProbes {
  std::vector<ServerMemory> memories;
  std::optional<View> newest;
  Status other_format;  // of a record that a server has
};

// At the servers of the newest view that is known, or that any of them knows,
// with these in their slots. A view must be in force.
net::Task<Result<ServerProbes>> ProbeServers(Session& session,
                                             const Successions& successions);

// Ends the change that ClaimChange has begun: OK once a view is in force under
// which at most f are out. `wait`: not yet, and how long until it is worth
// another try.
net::Task<Status> ActOn(Session& session, const ServerProbes& probes,
                        const Successions& successions, net::Duration& wait);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_LOSS_ROUND_H_
