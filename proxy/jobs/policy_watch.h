// PolicyWatch: puts what policies do into the event log, in one line for many
// objects.
#ifndef ERS_PROXY_JOBS_POLICY_WATCH_H_
#define ERS_PROXY_JOBS_POLICY_WATCH_H_

#include <chrono>
#include <optional>
#include <string>

#include "config/policies.h"
#include "jobs/policy_runner.h"
#include "net/runtime.h"

namespace ers::proxy {

// So often, at most, there is a line of each policy.
inline constexpr net::Duration kPolicyEventsEvery = std::chrono::minutes(1);

// "widen: idle 600 s to 6, 86400 s to wide; narrow: off"
std::string PoliciesText(const Policies& policies);

// One thread.
class PolicyWatch {
 public:
  // The policies that are in force from now on.
  void Note(const Policies& policies);
  // To be called from time to time: notes what was changed since the last time.
  void Scan(const PolicyCounts& counts, net::TimePoint now);

 private:
  std::string in_force_;
  PolicyCounts noted_;
  std::optional<net::TimePoint> last_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_POLICY_WATCH_H_
