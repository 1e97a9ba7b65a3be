// The record of participants on the members, which says what processes share
// the cluster: heartbeats, and waiting until every process has left a view. The
// state is Lease's. Nothing here changes the view.
#ifndef ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_
#define ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "net/task.h"
#include "store/format/participant.h"
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
  kGoOn,    // the lease, which holds
  kJoin,    // a new one
  kChange,  // a change of the view
};

// What came of one heartbeat.
struct Heartbeat {
  std::vector<Participant>
      participants;         // all that members showed, this process too
  int held = 0;             // members that took the line
  int in_sync = 0;          // of these, those that are in sync
  std::uint64_t epoch = 0;  // the newest view that is known
  // A member has another view of the same epoch: the cluster was set up anew.
  bool split = false;
  bool outdated = false;    // a member lacks the view, or has an earlier one
  std::vector<int> silent;  // members of the view that did not take it
  Status newer_format;      // of a record that a member has
};

// A heartbeat to all members of `view`.
net::Task<Heartbeat> HeartbeatAll(Session& session, ViewLinks& links,
                                  const View& view, Purpose purpose);

// Why a change of the view does not end: these processes stay behind.
Status Stalled(const std::vector<Participant>& behind);

// The pause between two heartbeats that wait for other processes.
net::Task<void> AskLater(Session& session);

// The end of a change of the view to `next`, which is stored, after no write of
// an earlier one is under way here: true once that is so in every other
// process, too. False: another one has gone on to a later view, and so no
// process may go by this one.
net::Task<Result<bool>> AwaitParticipants(Session& session, const View& next);

// Takes this process's entry back, so that no process has to wait for it.
net::Task<void> LeaveParticipants(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_PARTICIPANTS_H_
