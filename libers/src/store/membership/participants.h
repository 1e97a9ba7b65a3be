// The processes that share the cluster: heartbeats to all members, and waiting
// until every process has left a view. The state is Lease's, what goes to one
// member MemberRecords'. Nothing here changes the view.
#ifndef ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_
#define ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/task.h"
#include "store/membership/lease.h"
#include "store/membership/session.h"
#include "store/membership/view_links.h"

namespace ers::store {

// Claims the right to give heartbeats; the claim ends with this.
class HeartbeatClaim {
 public:
  static net::Task<std::unique_ptr<HeartbeatClaim>> Await(Session& session);
  // Null: one is under way.
  static std::unique_ptr<HeartbeatClaim> Try(Session& session);
  explicit HeartbeatClaim(Lease& lease) : lease_(lease) {}
  ~HeartbeatClaim() { lease_.EndHeartbeat(); }
  HeartbeatClaim(const HeartbeatClaim&) = delete;
  HeartbeatClaim& operator=(const HeartbeatClaim&) = delete;

 private:
  Lease& lease_;
};

// What a heartbeat is for.
enum class Purpose {
  kGoOn,    // the lease, which holds: to a few members, each in turn
  kJoin,    // a new one
  kChange,  // a change of the view
};

// Another process, as members show it.
struct Other {
  std::string label;
  // The newest that an entry of it says; 0: it is listed, and no more.
  std::uint64_t epoch = 0;
};
using Others = std::map<std::uint64_t, Other>;  // by id

// What came of one heartbeat.
struct Heartbeat {
  Others others;            // not with kGoOn
  net::TimePoint asked;     // since when members were asked for these
  int held = 0;             // members that took the entry
  int in_sync = 0;          // of these, those that are in sync
  std::uint64_t epoch = 0;  // the newest view that is known
  // A member has another view of the same epoch: the cluster was set up anew.
  bool split = false;
  bool outdated = false;    // a member lacks the view, or has an earlier one
  std::vector<int> silent;  // members of the view that did not take it
  Status refusal;           // why this process must not go on
};

// A heartbeat to members of `view`. Others that are `known` to have come to its
// epoch are not asked for again; null: none.
net::Task<Heartbeat> HeartbeatAll(Session& session, ViewLinks& links,
                                  const View& view, Purpose purpose,
                                  const Others* known = nullptr);

// Of those that the heartbeat met: still there, and may write under a view
// before `epoch`.
std::vector<std::string> Behind(Session& session, const Heartbeat& heartbeat,
                                std::uint64_t epoch);

// Why a change of the view does not end: these processes stay behind.
Status Stalled(const std::vector<std::string>& behind);

// The pause between two heartbeats that wait for other processes: the more of
// these there are, the longer, as all of them wait alike.
net::Task<void> AskLater(Session& session, std::size_t others = 0);

// The end of a change of the view to `next`, which is stored, after no write of
// an earlier one is under way here: true once that is so in every other
// process, too. False: another one has gone on to a later view, and so no
// process may go by this one.
net::Task<Result<bool>> AwaitParticipants(Session& session, const View& next);

// Takes those off the list that are gone, on the members of the view in force.
net::Task<void> TakeOffGone(Session& session);

// Takes this process off the list, so that no process has to wait for it.
net::Task<void> LeaveParticipants(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_
