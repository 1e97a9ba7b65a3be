// PolicyRunner: the policies at work: cold objects made wide, hot ones narrow.
#ifndef ERS_PROXY_JOBS_POLICY_RUNNER_H_
#define ERS_PROXY_JOBS_POLICY_RUNNER_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "config/policies.h"
#include "engine/wide_hits.h"
#include "jobs/hit_window.h"
#include "jobs/job_run.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/support/rate_limiter.h"

namespace ers::proxy {

enum class PolicyKind : std::uint8_t { kWiden, kNarrow };
inline constexpr std::string_view kPolicyKinds[] = {"widen", "narrow"};

// What became of an object that a policy was to change.
enum class PolicyOutcome : std::uint8_t {
  kChanged,
  kFailed,
  kRecent,   // changed so lately that it is left alone
  kSkipped,  // there is work for long enough: its turn did not come
};
inline constexpr std::string_view kPolicyOutcomes[] = {"changed", "failed",
                                                       "recent", "skipped"};

// Since the start.
struct PolicyCounts {
  std::array<std::array<std::uint64_t, std::size(kPolicyOutcomes)>,
             std::size(kPolicyKinds)>
      objects{};
  std::array<std::uint64_t, std::size(kPolicyKinds)> moved_bytes{};
  std::array<std::uint64_t, std::size(kPolicyKinds)> waiting{};  // objects
  // Unix seconds of the last scan for cold objects that came to its end; 0:
  // none has.
  std::int64_t last_scan = 0;
};

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
  [[nodiscard]] PolicyCounts counts() const;
  [[nodiscard]] Policies in_force() const;

 private:
  // What is to become of a hot object.
  struct Narrower {
    TransitionTarget target;
    std::uint64_t length = 0;  // of its value
  };

  void SetWiden();
  void SetNarrow();
  void Scan();
  void EndScan();
  void CountScanned(const Job& job);
  void Narrow(const std::string& key, std::uint64_t hits);
  net::Task<void> NarrowLane();
  net::Task<void> NarrowOne(const std::string& key);
  net::Task<std::optional<Narrower>> Choose(const std::string& key);
  net::Task<bool> Admit(std::uint64_t bytes);
  void Count(PolicyKind kind, PolicyOutcome outcome, std::uint64_t count = 1);
  void CountMoved(PolicyKind kind, const TransitionInfo& info);
  void SetWaiting(PolicyKind kind, std::uint64_t objects);

  JobHost& jobs_;
  net::Runtime& runtime_;
  Policies policies_;

  JobHost widen_host_;
  const std::unique_ptr<net::Timer> timer_;
  std::unique_ptr<JobRun> scan_;  // the last one
  JobCounts counted_;             // of it, in totals_ already

  std::optional<HitWindow> window_;
  std::optional<store::RateLimiter> limiter_;
  std::deque<std::string> hot_;
  // Those in hot_, and those that are being made narrow: how often they were
  // hit, at most.
  std::unordered_map<std::string, std::uint64_t> hot_keys_;
  int lanes_ = 0;

  mutable Mutex mutex_;
  PolicyCounts counts_ ERS_GUARDED_BY(mutex_);
  Policies shown_ ERS_GUARDED_BY(mutex_);  // policies_, for other threads
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_POLICY_RUNNER_H_
