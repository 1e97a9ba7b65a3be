// Lease: this process's leave to read and write manifests under the view that
// it knows. Heartbeats on the members, a line in the record of participants,
// make it known, and it runs out when those stop; so a change of the view need
// wait for no process longer than that, and no process goes on under a view
// that others have left (docs/internals/view.md, Several processes).
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

// How long a heartbeat is good for, from its sending on.
inline constexpr net::Duration kLeaseFor = std::chrono::seconds(2);
// A process whose line has not changed for so long is gone: its lease has run
// out, and what it sent under it has landed or never will. The difference is
// what a server that answers may take over a command that it has received.
inline constexpr net::Duration kGoneAfter = std::chrono::seconds(5);
// Heartbeats come about so often while there is something to do.
inline constexpr net::Duration kHeartbeatEvery = std::chrono::milliseconds(500);

// "process 17 on host".
std::string OwnProcessLabel();

// Any thread.
class Lease {
 public:
  // `label`: what others call this process.
  explicit Lease(std::string label) { own_.label = std::move(label); }

  // True: this process may go by the view in force.
  [[nodiscard]] bool Holds(net::TimePoint now) const;
  [[nodiscard]] bool HeartbeatIsDue(net::TimePoint now) const {
    return now.time_since_epoch().count() >= next_heartbeat_.load();
  }

  // Claims the right to give heartbeats. False: another call is at it;
  // `wake` (if any) is called, once, on any thread, when it is done.
  bool BeginHeartbeat(net::TimePoint now, std::function<void()> wake);
  void EndHeartbeat();

  // From now on the line says that nothing is under way under earlier views;
  // the lease is over until Confirm. Within a change of the view.
  void RaiseEpoch(std::uint64_t epoch);

  // The record with a line of this process in place of an earlier one, and
  // without those that are gone. `random` names the process the first time.
  std::vector<Participant> WithOwnEntry(
      const std::vector<Participant>& participants, std::uint64_t epoch,
      net::TimePoint now, std::uint64_t random);
  // The record without this process's line; it has one no more.
  std::vector<Participant> WithoutOwnEntry(
      std::vector<Participant> participants);
  // Whether a line of this process may be anywhere.
  [[nodiscard]] bool HasEntry() const;

  // Notes what members showed.
  void Observe(const std::vector<Participant>& participants,
               net::TimePoint now);
  // A member has taken the line that was sent at `sent`.
  void Renewed(int member, net::TimePoint sent);
  // Begins, or goes on, under `view`, as far as members have taken the line:
  // so many that every change of the view meets one of them. No other process
  // acts under an earlier view.
  void Confirm(const View& view);
  // Was it ever confirmed under that view, or a later one?
  [[nodiscard]] bool WasConfirmed(std::uint64_t epoch) const;
  // Others of `participants` that are there, and may still write under a view
  // before `epoch`.
  [[nodiscard]] std::vector<Participant> Behind(
      const std::vector<Participant>& participants, std::uint64_t epoch,
      net::TimePoint now) const;

  // Sessions of this process.
  void AddSession();
  // True: it was the last one.
  bool RemoveSession();

 private:
  struct Seen {
    std::uint64_t heartbeat = 0;
    std::uint64_t epoch = 0;
    net::TimePoint at;  // when it was seen to change
  };
  bool IsGoneLocked(const Participant& participant, net::TimePoint now) const
      ERS_REQUIRES(mutex_);

  std::atomic<net::Duration::rep> until_{0};
  std::atomic<net::Duration::rep> next_heartbeat_{0};
  mutable Mutex mutex_;
  Participant own_ ERS_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Seen> seen_ ERS_GUARDED_BY(mutex_);  // others, by id
  std::map<int, net::TimePoint> renewed_ ERS_GUARDED_BY(mutex_);
  std::uint64_t confirmed_ ERS_GUARDED_BY(mutex_) = 0;  // the newest epoch
  bool sending_heartbeat_ ERS_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> waiters_ ERS_GUARDED_BY(mutex_);
  int sessions_ ERS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_LEASE_H_
