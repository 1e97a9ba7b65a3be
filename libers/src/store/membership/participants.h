// The processes that share the cluster: coming to them, and waiting until every
// one of them has left a view. The state is Lease's, what goes to one
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

// Claims the right to put this process's own on the members; the claim ends
// with this.
class PlacingClaim {
 public:
  static net::Task<std::unique_ptr<PlacingClaim>> Await(Session& session);
  // Null: another call is at it.
  static std::unique_ptr<PlacingClaim> Try(Session& session);
  explicit PlacingClaim(Session& session);
  ~PlacingClaim();
  PlacingClaim(const PlacingClaim&) = delete;
  PlacingClaim& operator=(const PlacingClaim&) = delete;

 private:
  Session& session_;
};

// What a heartbeat to all members is for.
enum class Purpose {
  kJoin,    // a lease, which has run out long ago or never began
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
  Others others;
  net::TimePoint asked;     // since when members were asked for these
  int held = 0;             // members that took the entry
  int in_sync = 0;          // of these, those that are in sync
  std::uint64_t epoch = 0;  // the newest view that is known
  // A member has another view of the same epoch: the cluster was set up anew.
  bool split = false;
  bool outdated = false;    // a member lacks the view, or has an earlier one
  std::vector<int> silent;  // members of the view that did not take it
  std::vector<int> unanswered;  // of these, those that said nothing since
  Status refusal;               // why this process must not go on
};

// A heartbeat to all members of `view` that are not down. Others that are
// `known` to have come to its epoch are not asked for again; null: none.
net::Task<Heartbeat> HeartbeatAll(Session& session, ViewLinks& links,
                                  const View& view, Purpose purpose,
                                  const Others* known = nullptr);

// Of those that the heartbeat met: still there, and may write under a view
// before `epoch`.
std::vector<std::string> Behind(Session& session, const Heartbeat& heartbeat,
                                std::uint64_t epoch);

// Members of `view`, or of the next one, on which something may land yet that a
// process has sent which counts as gone: they have said nothing since.
std::vector<int> MayLandOn(Session& session, const Heartbeat& heartbeat,
                           const View& view);

// Why a change of the view does not end: these processes stay behind.
Status Stalled(const std::vector<std::string>& behind);

// The pause between two heartbeats that wait for other processes: the more of
// these there are, the longer, as all of them wait alike.
net::Task<void> AskLater(Session& session, std::size_t others = 0);

// Whether all processes may go by a view.
struct Agreement {
  // False: another one has gone on to a later view, or members must leave; so
  // no process may go by this one.
  bool all = false;
  // These, of MayLandOn.
  std::vector<int> leaving;
};

// The end of a change of the view to `next`, which is stored, after no write of
// an earlier one is under way here: once that is so in every other process,
// too.
net::Task<Result<Agreement>> AwaitParticipants(Session& session,
                                               const View& next);

// Takes those off the list that are gone, on the members of the view in force.
net::Task<void> TakeOffGone(Session& session);

// Takes this process off the list, so that no process has to wait for it.
net::Task<void> LeaveParticipants(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_
