// Session: one loop's share of a cluster: its links, its knowledge of the
// view, its manifest cache. Every operation works through one.
#ifndef ERS_STORE_MEMBERSHIP_SESSION_H_
#define ERS_STORE_MEMBERSHIP_SESSION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/runtime.h"
#include "net/server_link.h"
#include "net/task.h"
#include "store/format/change_id.h"
#include "store/membership/cluster_state.h"
#include "store/membership/manifest_cache.h"
#include "store/membership/spare_room.h"
#include "store/support/alarms.h"
#include "store/support/buffer_pool.h"
#include "store/support/hedge_budget.h"
#include "store/support/item_lengths.h"
#include "store/support/late_servers.h"
#include "store/support/link_speed.h"
#include "store/support/session_counters.h"
#include "store/support/touch_times.h"

namespace ers::store {

// Loop thread only. It may be destroyed only on its loop's thread and outside
// a running loop: the destructor runs the loop until the tasks it spawned
// ended.
class Session final : private net::LinkGuard {
 public:
  // `counters`, for as many members as the cluster has, may be read after the
  // session; null: its own.
  Session(net::Runtime& runtime, std::shared_ptr<ClusterState> cluster,
          std::size_t cached_manifests,
          std::shared_ptr<SessionCounters> counters = nullptr);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  net::Runtime& runtime() { return runtime_; }
  ClusterState& cluster() { return *cluster_; }
  // The time of the cluster, in Unix microseconds: what is stored goes by it.
  std::int64_t WallMicros() { return cluster_->clock.Micros(runtime_); }
  // The same, and more at each call: of two changes in one microsecond, too.
  std::int64_t RisingMicros() {
    return last_rising_us_ = std::max(last_rising_us_ + 1, WallMicros());
  }
  // The name of a change that begins now.
  ChangeId NewChangeId();
  // What the ids of this session's changes have in common.
  [[nodiscard]] std::uint64_t maker() const { return change_ids_.maker(); }
  ManifestCache& manifests() { return manifests_; }
  BufferPool& buffers() { return buffers_; }
  TouchTimes& touch_times() { return touch_times_; }
  LinkSpeed& link_speed() { return link_speed_; }
  SpareRoom& spare_room() { return spare_room_; }
  Alarms& alarms() { return alarms_; }
  LateServers& late_servers() { return late_servers_; }
  HedgeBudget& hedge_budget() { return hedge_budget_; }
  ItemLengths& item_lengths() { return item_lengths_; }
  StoreCounters& counters() { return counters_->store; }
  net::ServerLink& link(int member) { return *links_[member]; }
  [[nodiscard]] const net::Latency& latency(int member) const {
    return counters_->links[static_cast<std::size_t>(member)].latency;
  }
  [[nodiscard]] int members() const { return static_cast<int>(links_.size()); }
  [[nodiscard]] std::shared_ptr<const View> view() const;
  // Of the members' slots. Before a view is known: of the servers given.
  [[nodiscard]] const net::Ring& ring() const { return *ring_; }
  // Of the server, for people.
  [[nodiscard]] const std::string& member_name(int member) const {
    return names_[member];
  }
  // Has the links go where `view` has its members, as long as none is in force.
  // It has as many, and has passed CheckMembers. True: some went elsewhere.
  bool PlaceMembers(const View& view) const;
  // Another connection to a member, held to the view as link() is. The session
  // outlives it.
  std::unique_ptr<net::ServerLink> NewLink(int member,
                                           net::Duration request_timeout);
  // The same, to whatever memory the member has by now.
  std::unique_ptr<net::ServerLink> NewStrangerLink(int member);
  // The same, at another place; `guard`, if any, outlives it.
  std::unique_ptr<net::ServerLink> NewStrangerLink(
      int member, const net::Endpoint& endpoint,
      net::LinkGuard* guard = nullptr);
  // "host:port: connection refused": for error messages.
  [[nodiscard]] std::string Describe(const net::ServerLink& link) const;
  [[nodiscard]] std::string Describe(int member) const {
    return Describe(*links_[member]);
  }

  // May blocks be read from / written to this member now, without waiting for
  // a dead server? A member that is out of the view is read only over a
  // connection that stands: its blocks stay valid, new ones are not put there.
  [[nodiscard]] bool Readable(int member) const;
  [[nodiscard]] bool Writable(int member) const;

  // Runs a task that nothing awaits; the session outlives it. A long one checks
  // now and then whether the session is being destroyed.
  void Detach(net::Task<void> task);
  // The same, of one that holds what other sessions of the cluster wait for.
  void DetachHolding(net::Task<void> task);
  // From now on it holds such itself.
  void BeginHolding() { holding_.Add(); }
  void EndHolding() { holding_.CountDown(); }
  // Does it? A session whose loop stops running then keeps all others
  // waiting.
  [[nodiscard]] bool holds() const { return holding_.count() > 0; }
  net::Task<void> AwaitHeld() { co_await holding_; }
  [[nodiscard]] bool closing() const { return closing_; }

 private:
  bool Accept(int member, const net::ServerFacts& facts,
              std::string* why) override;
  bool MaySuspect(int member, net::TimePoint since) override;
  net::Task<void> Ask(int member);
  std::unique_ptr<net::ServerLink> MakeLink(int member,
                                            const net::Endpoint& endpoint,
                                            net::Duration request_timeout,
                                            net::LinkGuard* guard);
  void RetryReturned(const View& before, const View& now) const;
  void LeaveMissed(const View& before, const View& now) const;
  void LeaveStrangers(const View& now) const;
  net::Task<void> Count(net::Task<void> task);
  net::Task<void> Hold(net::Task<void> task);

  net::Runtime& runtime_;
  std::shared_ptr<ClusterState> cluster_;
  std::shared_ptr<SessionCounters> counters_;
  ChangeIdSource change_ids_;
  std::int64_t last_rising_us_ = 0;
  ManifestCache manifests_;
  BufferPool buffers_;
  TouchTimes touch_times_;
  LinkSpeed link_speed_;
  SpareRoom spare_room_;
  Alarms alarms_;
  LateServers late_servers_;
  HedgeBudget hedge_budget_;
  ItemLengths item_lengths_;
  // As PlaceMembers has left them.
  mutable std::vector<std::string> names_;
  mutable std::shared_ptr<const net::Ring> ring_;
  std::vector<bool> asking_;  // which are, since another is silent
  std::vector<std::unique_ptr<net::ServerLink>> links_;
  int detached_ = 0;
  net::Latch holding_;
  bool closing_ = false;
  // The view as of this version. Counts its users apart from other loops'.
  mutable std::uint64_t view_version_ = 0;
  mutable std::shared_ptr<const View> view_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_SESSION_H_
