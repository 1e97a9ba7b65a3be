// Lease: this process's leave to read and write manifests under the view that
// it knows. Heartbeats on the members, which move its entry there, make it
// known, and it runs out when those stop, or while the process rests; so a
// change of the view need wait for no process longer than that, and no process
// goes on under a view that others have left (docs/internals/view.md, Several
// processes).
#ifndef ERS_STORE_MEMBERSHIP_LEASE_H_
#define ERS_STORE_MEMBERSHIP_LEASE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/runtime.h"
#include "store/format/participant.h"
#include "store/format/view.h"

namespace ers::store {

// How long a heartbeat is good for, from its sending on: the second, where the
// servers take their time. The entry says which.
inline constexpr std::chrono::milliseconds kLeaseFor(500);
inline constexpr std::chrono::milliseconds kLongLeaseFor(2000);
// What was sent under a lease has landed so long after its end, or never will:
// as long as a server that answers may take over a command that it has
// received.
inline constexpr net::Duration kLandsWithin = std::chrono::milliseconds(500);
// A process whose entry has not changed for so long is gone: the second, where
// its entry says that leases are long, or it is not known what that says.
inline constexpr net::Duration kGoneAfter = kLeaseFor + kLandsWithin;
inline constexpr net::Duration kLongGoneAfter = kLongLeaseFor + kLandsWithin;
// Such a process is taken off the list only after so long: one that rests comes
// back without being listed anew.
inline constexpr net::Duration kTakenOffAfter = std::chrono::seconds(5);
// Heartbeats come about so often while there is something to do, and in a
// process that rests.
inline constexpr net::Duration kHeartbeatEvery = std::chrono::milliseconds(100);
inline constexpr net::Duration kRestingHeartbeatEvery =
    std::chrono::milliseconds(500);
// A process rests once no call has begun for so long.
inline constexpr net::Duration kRestsAfter = std::chrono::seconds(2);

// One state of an entry on one member: it differs after each heartbeat.
struct EntryVersion {
  std::uint64_t count = 0;  // 0: there is none, or it is damaged
  std::uint64_t token = 0;
  std::chrono::milliseconds lease_for{};
  bool operator==(const EntryVersion&) const = default;
};

// "process 17 on host".
std::string OwnProcessLabel();

// Any thread.
class Lease {
 public:
  // `label`: what others call this process.
  explicit Lease(std::string label) {
    self_.label = std::move(label);
    own_.terms.lease_for = kLeaseFor;
  }

  // True: this process may go by the view in force.
  [[nodiscard]] bool Holds(net::TimePoint now) const;
  // What is sent under the lease leaves before that time: it moves with the
  // lease, and lives as long as this. Null: whenever it may be.
  [[nodiscard]] const std::atomic<net::Duration::rep>* leaves_before() const;

  // A call begins.
  void NoteCall(net::TimePoint now);
  [[nodiscard]] bool Rests(net::TimePoint now) const;
  // How long to wait from one heartbeat to the next.
  [[nodiscard]] net::Duration HeartbeatEvery(net::TimePoint now) const;
  // True for one caller each time that a heartbeat is due.
  bool TakeHeartbeat(net::TimePoint now);

  // Claims the right to put this process's own on the members. False: another
  // call is at it; `wake` (if any) is called, once, on any thread, when it is
  // done.
  bool BeginPlacing(std::function<void()> wake);
  void EndPlacing();

  // From now on the entry says that nothing is under way under earlier views;
  // the lease is over until Confirm. Within a change of the view.
  void RaiseEpoch(std::uint64_t epoch);

  // This process, as the registry lists it. `random` names it the first time.
  Participant Self(std::uint64_t random);
  // What its entry is to say under a view of that epoch.
  EntryTerms TermsOfEntry(std::uint64_t epoch);
  // How long its leases are to last, as servers answer only after `took`.
  // Longer ones begin once entries say so.
  void ChooseTerm(net::Duration took);
  [[nodiscard]] net::Duration term() const;
  // The entry to write in place of the one before.
  Entry NextEntry(std::uint64_t epoch);
  // It has no entry any more, and no lease.
  void Leave();
  // Whether an entry of this process may be anywhere.
  [[nodiscard]] bool HasEntry() const;

  // Notes what a member shows of another process's entry, by `now`.
  void Observe(int member, std::uint64_t id, const EntryVersion& version,
               net::TimePoint now);
  // Is that process gone, as its entry has not changed for longer than it says,
  // and `least`? `asked`: since then members have been asked for it, and what
  // they showed is noted.
  [[nodiscard]] bool IsGone(std::uint64_t id, net::TimePoint asked,
                            net::Duration least = kGoneAfter) const;
  // True for one caller in each while: it sees to those that are gone.
  bool TakeTurnForGone(net::TimePoint now);
  // Where in a row of members a heartbeat to so many begins: each in turn.
  std::size_t TakeTurn(std::size_t members);
  // A heartbeat to the member is under way, until EndAsking.
  void BeginAsking(int member);
  void EndAsking(int member);
  [[nodiscard]] bool IsAsked(int member) const;
  // Forgets the processes that are not among `listed`.
  void ForgetOthers(const std::vector<std::uint64_t>& listed);

  // A member has taken a heartbeat that was sent at `sent`. So others do not
  // take this process off its list.
  void Shown(int member, net::TimePoint sent);
  // And the lease may go by that, as long as the entry there says: it has held
  // since `sent`, or the member was read once enough others had taken theirs,
  // too.
  void Renewed(int member, net::TimePoint sent,
               std::chrono::milliseconds lease_for);
  // The entry there is to say that leases are as short as that, from now on.
  void Shorten(int member, std::chrono::milliseconds lease_for);
  // Without so many of its members no view can be stored, or only by those that
  // ask one of them.
  static int MembersNeeded(const View& view);
  // Can the lease be taken up again as it was: no other process acts under an
  // earlier view, and none has cause to take this one off the list?
  [[nodiscard]] bool MayResume(const View& view, net::TimePoint now) const;
  // Begins, or goes on, under `view`, as far as members have taken the entry:
  // so many that every change of the view meets one of them. No other process
  // acts under an earlier view.
  void Confirm(const View& view);
  // Was it ever confirmed under that view, or a later one?
  [[nodiscard]] bool WasConfirmed(std::uint64_t epoch) const;

  // Sessions of this process.
  void AddSession();
  // True: it was the last one.
  bool RemoveSession();

 private:
  // What members have shown of another process.
  struct Seen {
    std::map<int, EntryVersion> versions;  // by member
    net::TimePoint at;                     // when the last change was seen
  };
  // The last heartbeat that a member took.
  struct Taken {
    net::TimePoint sent;
    std::chrono::milliseconds lease_for{};
  };

  // When the lease ends by what members took; 0: they are too few.
  net::Duration::rep EndLocked() const ERS_REQUIRES(mutex_);

  std::atomic<net::Duration::rep> until_{0};
  std::atomic<net::Duration::rep> next_heartbeat_{0};
  std::atomic<net::Duration::rep> last_call_{0};
  mutable Mutex mutex_;
  Participant self_ ERS_GUARDED_BY(mutex_);
  Entry own_ ERS_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Seen> seen_ ERS_GUARDED_BY(mutex_);  // others, by id
  std::map<int, net::TimePoint> shown_ ERS_GUARDED_BY(mutex_);
  std::map<int, Taken> renewed_ ERS_GUARDED_BY(mutex_);
  // By which the lease goes: so many of these must have taken heartbeats.
  std::vector<int> counting_ ERS_GUARDED_BY(mutex_);
  int needed_ ERS_GUARDED_BY(mutex_) = 0;
  std::map<int, int> asked_ ERS_GUARDED_BY(mutex_);     // heartbeats, by member
  std::uint64_t confirmed_ ERS_GUARDED_BY(mutex_) = 0;  // the newest epoch
  net::TimePoint gone_turn_ ERS_GUARDED_BY(mutex_){};
  std::size_t next_member_ ERS_GUARDED_BY(mutex_) = 0;
  bool placing_ ERS_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> waiters_ ERS_GUARDED_BY(mutex_);
  int sessions_ ERS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_LEASE_H_
