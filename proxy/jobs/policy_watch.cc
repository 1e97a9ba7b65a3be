#include "jobs/policy_watch.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/event_log.h"
#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

std::string TiersText(const std::vector<Tier>& tiers, std::string_view unit) {
  if (tiers.empty()) return "off";
  std::string text;
  for (const Tier& tier : tiers) {
    text += fmt::format("{}{} {} to {}", text.empty() ? "" : ", ", tier.from,
                        unit, tier.width);
  }
  return text;
}

}  // namespace

std::string PoliciesText(const Policies& policies) {
  const std::uint64_t idle_s = policies.pack.idle_seconds;
  return fmt::format(
      "widen: {}; narrow: {}{}", TiersText(policies.widen.tiers, "s idle"),
      TiersText(policies.narrow.tiers,
                fmt::format("reads in {} s", policies.narrow.within_seconds)),
      idle_s == 0 ? "" : fmt::format("; pack: {} s idle", idle_s));
}

void PolicyWatch::Note(const Policies& policies) {
  std::string text = PoliciesText(policies);
  if (text == in_force_) return;
  // A daemon that has none has nothing to report of them.
  const bool first = in_force_.empty();
  if (!first || text != PoliciesText({})) {
    EventLog::OfProcess().Add(EventKind::kPolicy, LogLevel::kInfo,
                              "policies in force: " + text);
  }
  in_force_ = std::move(text);
}

void PolicyWatch::Scan(const PolicyCounts& counts, net::TimePoint now) {
  if (last_ && now - *last_ < kPolicyEventsEvery) return;
  bool any = false;
  for (std::size_t i = 0; i < std::size(kPolicyKinds); ++i) {
    const auto since = [&](PolicyOutcome outcome) {
      const auto at = static_cast<std::size_t>(outcome);
      return counts.objects[i][at] - noted_.objects[i][at];
    };
    const std::uint64_t changed = since(PolicyOutcome::kChanged);
    const std::uint64_t failed = since(PolicyOutcome::kFailed);
    if (changed == 0 && failed == 0) continue;
    any = true;
    EventLog::OfProcess().Add(
        EventKind::kPolicy, failed > 0 ? LogLevel::kWarning : LogLevel::kInfo,
        fmt::format("policy {}: {} changed, {} failed, {} bytes moved",
                    kPolicyKinds[i], CountText(changed, "object"), failed,
                    counts.moved_bytes[i] - noted_.moved_bytes[i]));
  }
  if (!any) return;
  noted_ = counts;
  last_ = now;
}

}  // namespace ers::proxy
