// PolicyRunner: the policies at work: cold objects made wide, cold small values
// packed, hot objects made narrow.
#ifndef ERS_PROXY_JOBS_POLICY_RUNNER_H_
#define ERS_PROXY_JOBS_POLICY_RUNNER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "config/policies.h"
#include "engine/wide_hits.h"
#include "jobs/hit_window.h"
#include "jobs/policy_ledger.h"
#include "jobs/policy_scan.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/support/rate_limiter.h"

namespace ers::proxy {

// Loop thread only; ends only when it is not at work.
class PolicyRunner {
 public:
  // `jobs` gives the store, whether to stop, and the turn to list; it outlives
  // this.
  explicit PolicyRunner(JobHost& jobs);

  // From now on. What is as before is not disturbed.
  void Set(const Policies& policies);
  void TakeHits(const HitBatch& hits);
  // The host is stopping.
  void Stop();
  [[nodiscard]] bool at_work() const;
  // Any thread.
  [[nodiscard]] PolicyCounts counts() const { return ledger_.counts(); }
  [[nodiscard]] Policies in_force() const;

 private:
  // What is to become of a hot object.
  struct Narrower {
    TransitionTarget target;
    std::uint64_t length = 0;  // of its value
  };

  void SetWiden();
  void SetPack();
  void SetNarrow();
  void TakePace(const PolicyPace& pace, JobSpec& spec) const;
  void Narrow(const std::string& key, std::uint64_t hits);
  net::Task<void> NarrowLane();
  net::Task<void> NarrowOne(const std::string& key);
  net::Task<std::optional<Narrower>> Choose(const std::string& key);
  net::Task<bool> Admit(std::uint64_t bytes);

  JobHost& jobs_;
  net::Runtime& runtime_;
  Policies policies_;

  PolicyLedger ledger_;
  PolicyScan widen_;
  PolicyScan pack_;

  std::optional<HitWindow> window_;
  std::optional<store::RateLimiter> limiter_;
  std::deque<std::string> hot_;
  // Those in hot_, and those that are being made narrow: how often they were
  // hit, at most.
  std::unordered_map<std::string, std::uint64_t> hot_keys_;
  int lanes_ = 0;

  mutable Mutex mutex_;
  Policies shown_ ERS_GUARDED_BY(mutex_);  // policies_, for other threads
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_POLICY_RUNNER_H_
