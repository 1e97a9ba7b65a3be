// PolicyLedger: what policies have done.
#ifndef ERS_PROXY_JOBS_POLICY_LEDGER_H_
#define ERS_PROXY_JOBS_POLICY_LEDGER_H_

#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/mutex.h"
#include "ers/object_info.h"

namespace ers::proxy {

enum class PolicyKind : std::uint8_t { kWiden, kNarrow, kPack };
inline constexpr std::string_view kPolicyKinds[] = {"widen", "narrow", "pack"};

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

// Any thread.
class PolicyLedger {
 public:
  void Count(PolicyKind kind, PolicyOutcome outcome, std::uint64_t count = 1);
  void CountMoved(PolicyKind kind, const TransitionInfo& info);
  void SetWaiting(PolicyKind kind, std::uint64_t objects);
  void NoteScan(std::int64_t now_s);
  [[nodiscard]] PolicyCounts counts() const;

 private:
  mutable Mutex mutex_;
  PolicyCounts counts_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_POLICY_LEDGER_H_
