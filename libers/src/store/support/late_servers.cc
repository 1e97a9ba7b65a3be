#include "store/support/late_servers.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace ers::store {
namespace {

using net::Duration;
using net::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A member is late after its own p99. But one that is late all the time must
// not be waited for as long as it takes: twice the p95 that most members have
// is enough.
constexpr double kOwnQuantile = 0.99;
constexpr double kOthersQuantile = 0.95;
constexpr int kTimesOthers = 2;

// Quantiles are computed for all members at once, so often; more seldom where
// there are many.
constexpr Duration kGoodFor = milliseconds(100);
constexpr Duration kGoodForMore = milliseconds(1);  // for each member

// A late reply now and then comes from any server. As many in a row do not.
constexpr int kLateUntilSlow = 3;
constexpr int kInTimeUntilGood = 8;

// Probes take a small part of a slow server's time, for others wait behind
// them: manifests that it alone has.
constexpr int kProbeShare = 50;
constexpr Duration kProbeLeast = milliseconds(100);
constexpr Duration kProbeMost = seconds(30);
constexpr Duration kProbeInTime = milliseconds(10);

}  // namespace

LateServers::LateServers(const std::vector<net::LinkCounters>& links,
                         bool hedges)
    : links_(links), hedges_(hedges), members_(links.size()) {}

Duration LateServers::Patience(int member, std::size_t bytes, TimePoint now) {
  if (!hedges_) return {};
  const std::size_t length_class = net::Latency::ClassOf(bytes);
  const Patiences& known = patiences_[length_class];
  if (known.of.empty() || now >= known.good_until) Learn(length_class, now);
  return known.of[static_cast<std::size_t>(member)];
}

void LateServers::Learn(std::size_t length_class, TimePoint now) {
  std::vector<std::optional<Duration>> own;
  std::vector<Duration> others;
  for (const net::LinkCounters& link : links_) {
    const net::LatencyHistogram& seen = link.latency.OfClass(length_class);
    own.push_back(seen.Quantile(kOwnQuantile));
    const auto other = seen.Quantile(kOthersQuantile);
    if (other) others.push_back(*other);
  }
  std::optional<Duration> most;
  if (!others.empty()) {
    // The lower of two: one of them may be slow.
    const auto middle = others.begin() + (std::ssize(others) - 1) / 2;
    std::nth_element(others.begin(), middle, others.end());
    most = *middle * kTimesOthers;
  }
  Patiences& known = patiences_[length_class];
  known.of.clear();
  for (const std::optional<Duration>& p99 : own) {
    Duration patience = most.value_or(kUnknown);
    if (p99) patience = std::min(patience, *p99);
    known.of.push_back(std::max(patience, kLeast));
  }
  known.good_until =
      now + kGoodFor + kGoodForMore * static_cast<int>(links_.size());
}

template <typename Change>
void LateServers::Update(int member, const Change& change) {
  Member& of = members_[static_cast<std::size_t>(member)];
  troubled_ -= IsTroubled(of) ? 1 : 0;
  change(of);
  troubled_ += IsTroubled(of) ? 1 : 0;
}

void LateServers::SetSlow(Member& member, bool slow) {
  if (member.slow == slow) return;
  member.slow = slow;
  member.in_time_in_a_row = 0;
  member.late_in_a_row = 0;
  member.probe_at = {};
  slow_ += slow ? 1 : -1;
}

// What is behind a late reply on its connection comes later still. But many
// replies are hardly late, and others need not decode for that.
void LateServers::OnLate(int member, Duration patience, TimePoint now) {
  Update(member, [&](Member& of) {
    of.in_time_in_a_row = 0;
    if (of.late++ > 0) return;
    of.shunned_from = now + patience;
    if (++of.late_in_a_row >= kLateUntilSlow) SetSlow(of, true);
  });
}

void LateServers::OnOvertaken(int member, TimePoint now) {
  Member& of = members_[static_cast<std::size_t>(member)];
  of.shunned_from = std::min(of.shunned_from, now);
}

void LateServers::OnEnd(int member, bool late, bool answered) {
  const Member& now = members_[static_cast<std::size_t>(member)];
  if (!late && !now.slow && now.late_in_a_row == 0) return;  // as a rule
  Update(member, [&](Member& of) {
    if (late) {
      --of.late;
      if (!answered) SetSlow(of, true);
    } else if (answered) {
      of.late_in_a_row = 0;
      if (of.slow && ++of.in_time_in_a_row >= kInTimeUntilGood) {
        SetSlow(of, false);
      }
    }
  });
}

bool LateServers::IsShunned(int member, TimePoint now) const {
  const Member& of = members_[static_cast<std::size_t>(member)];
  return of.slow || (of.late > 0 && now >= of.shunned_from);
}

bool LateServers::TakeProbe(int member, TimePoint now) {
  Member& of = members_[static_cast<std::size_t>(member)];
  if (!of.slow || of.probed || now < of.probe_at) return false;
  of.probed = true;
  return true;
}

void LateServers::OnProbeEnd(int member, Duration took, bool in_time,
                             TimePoint now) {
  Update(member, [&](Member& of) {
    of.probed = false;
    if (!of.slow) return;
    if (!in_time) {
      of.in_time_in_a_row = 0;
      of.probe_at =
          now + std::clamp(took * kProbeShare, kProbeLeast, kProbeMost);
    } else if (++of.in_time_in_a_row >= kInTimeUntilGood) {
      SetSlow(of, false);
    } else {
      of.probe_at = now + kProbeInTime;
    }
  });
}

}  // namespace ers::store
