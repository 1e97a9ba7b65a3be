// Jobs: what a daemon does in the background, beside its clients. The room's
// only entry point: it owns the loop that jobs, policies, backfilling, garbage
// and replacement run on. No HTTP may come in.
#ifndef ERS_PROXY_JOBS_JOBS_H_
#define ERS_PROXY_JOBS_JOBS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "config/options.h"
#include "engine/changing_keys.h"
#include "ers/object_info.h"
#include "ers/status.h"
#include "jobs/backfiller.h"
#include "jobs/garbage_collector.h"
#include "jobs/job.h"
#include "jobs/job_run.h"
#include "jobs/job_table.h"
#include "jobs/journal.h"
#include "jobs/memory_watch.h"
#include "jobs/policy_runner.h"
#include "jobs/policy_watch.h"
#include "jobs/replacement.h"
#include "jobs/serving_watch.h"
#include "jobs/view_watch.h"
#include "net/event_loop.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/eviction_follower.h"

namespace ers::proxy {

inline constexpr int kMaxSingleTransitions = 64;
inline constexpr int kMaxServerChecks = 16;

// Has a thread, an event loop and connections of its own, so that clients do
// not wait for it. Methods may be called on any thread, once Start was; what
// they give a callback is called once, on the jobs' thread or, where it says
// no at once, on the caller's.
class Jobs {
 public:
  // Takes up what the state folder has. kInvalidArgument names it.
  static Result<std::unique_ptr<Jobs>> Open(
      const ServerOptions& options,
      std::shared_ptr<store::ClusterState> cluster, ChangingKeys& changing);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  void Start();
  // Begins nothing more; what is being changed is finished. With a state
  // folder, jobs go on at the next start.
  void Stop();
  // Until that is so; nothing is answered any more, and another process may
  // have the state folder. Once.
  void Join();

  // Newest first.
  [[nodiscard]] std::vector<Job> List() const { return table_.List(); }
  [[nodiscard]] std::optional<Job> Find(std::uint64_t id) const {
    return table_.Find(id);
  }
  [[nodiscard]] JobTotals totals() const;

  // From now on; what is being changed is finished.
  void SetPolicies(const Policies& policies);
  // What clients read of wide objects.
  void TakeHits(HitBatch hits);
  [[nodiscard]] PolicyCounts policy_counts() const;
  // In force.
  [[nodiscard]] Policies policies() const;
  // From now on, for servers that come back and those that are being
  // backfilled.
  void SetBackfill(const BackfillLimits& limits);
  [[nodiscard]] BackfillState backfill_state() const;
  [[nodiscard]] MemoryReports memory_reports() const;
  // See ServingWatch::OnChange; before Start.
  void OnServing(ServingWatch::Changed changed) {
    serving_.OnChange(std::move(changed));
  }
  [[nodiscard]] ServingState serving() const { return serving_.state(); }

  // See GarbageCollector::Collect; kUnavailable: stopping.
  void CollectGarbage(GarbageRequest request, GarbageCollector::Callback done);
  [[nodiscard]] GarbageTotals garbage_totals() const;

  // See store::ReplaceServer. kConflict: another one is being replaced.
  using Replaced = std::function<void(const Status&)>;
  void Replace(Replacement replacement, Replaced done);

  // See Client::Servers. kUnavailable: also where too many ask at a time.
  using Asked = std::function<void(const Result<ClusterInfo>&)>;
  void AskServers(Asked done);

  // What its connections and transitions have come to.
  [[nodiscard]] const store::SessionCounters& session_counters() const {
    return *session_counters_;
  }

  // kInvalidArgument: the target does not fit the cluster. kUnavailable: too
  // many, stopping, or the journal cannot be written.
  using Callback = JobTable::Callback;
  void Create(JobSpec spec, Callback done);
  // kNotFound: no such job. kConflict: not in its state. kUnavailable: done,
  // but the journal cannot be written.
  void Pause(std::uint64_t id, Callback done);
  void Resume(std::uint64_t id, Callback done);
  void Cancel(std::uint64_t id, Callback done);
  void Forget(std::uint64_t id, Callback done);
  // One object, in no job.
  using Moved = std::function<void(const Result<TransitionInfo>&)>;
  void Transition(std::string key, TransitionTarget target, Moved moved);

 private:
  Jobs(const ServerOptions& options,
       std::shared_ptr<store::ClusterState> cluster, ChangingKeys& changing,
       std::unique_ptr<Journal> journal);
  Status CheckTarget(const TransitionTarget& target) const;
  void Loop();
  void OnTimer();
  void OnHeartbeatTimer();
  void Command(std::uint64_t id, Status (JobRun::*command)(), Callback done);
  net::Task<void> TransitionHere(std::string key, TransitionTarget target,
                                 Moved moved);
  net::Task<void> ReplaceHere(Replacement replacement, Replaced done);
  net::Task<void> AskServersHere(Asked done);
  [[nodiscard]] bool Quiet() const;

  const ServerOptions& options_;
  const std::shared_ptr<store::ClusterState> cluster_;
  ChangingKeys& changing_;
  const int servers_;
  const std::shared_ptr<store::SessionCounters> session_counters_;
  std::unique_ptr<net::EventLoop> loop_;
  JobTable table_;
  ServingWatch serving_;

  // Loop thread only.
  std::unique_ptr<store::Session> session_;
  std::unique_ptr<store::Store> store_;
  bool listing_ = false;
  ViewWatch view_watch_;
  PolicyWatch policy_watch_;
  std::unique_ptr<JobHost> host_;
  // Made and ended under mutex_; else of the loop's thread.
  std::unique_ptr<PolicyRunner> policies_;
  std::unique_ptr<GarbageCollector> garbage_;
  std::unique_ptr<Backfiller> backfiller_;
  std::unique_ptr<store::EvictionFollower> follower_;
  std::unique_ptr<MemoryWatch> memory_;
  std::unique_ptr<net::Timer> timer_;
  std::unique_ptr<net::Timer> heartbeat_timer_;
  int singles_ = 0;  // single transitions under way
  int server_checks_ = 0;
  bool replacing_ = false;
  bool ending_ = false;

  std::atomic<std::uint64_t> changed_{0};
  std::atomic<std::uint64_t> bytes_read_{0};
  std::atomic<std::uint64_t> bytes_written_{0};

  mutable Mutex mutex_;
  std::thread thread_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JOBS_H_
