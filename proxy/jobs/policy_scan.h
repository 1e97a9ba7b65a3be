// PolicyScan: a policy that searches all objects now and then, and is at work
// on those it finds until the next search is due.
#ifndef ERS_PROXY_JOBS_POLICY_SCAN_H_
#define ERS_PROXY_JOBS_POLICY_SCAN_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "jobs/job_run.h"
#include "jobs/policy_ledger.h"
#include "net/runtime.h"

namespace ers::proxy {

// Loop thread only; ends only when it is not at work.
class PolicyScan {
 public:
  struct Terms {
    JobSpec spec;
    std::int64_t every_seconds = 0;
  };

  // `jobs` and `ledger` outlive it.
  PolicyScan(const JobHost& jobs, PolicyKind kind, PolicyLedger& ledger);

  // Its own; before the first Set.
  JobHost& host() { return host_; }
  // From now on; empty: off.
  void Set(std::optional<Terms> terms);
  // The host is stopping.
  void Stop();
  [[nodiscard]] bool at_work() const { return run_ && run_->at_work(); }

 private:
  void Scan();
  void End();
  void CountScanned(const Job& job);

  const PolicyKind kind_;
  PolicyLedger& ledger_;
  JobHost host_;
  std::optional<Terms> terms_;
  const std::unique_ptr<net::Timer> timer_;
  std::unique_ptr<JobRun> run_;  // the last one
  JobCounts counted_;            // of it, in the ledger already
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_POLICY_SCAN_H_
