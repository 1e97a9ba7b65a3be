#include "store/support/cluster_clock.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/micros.h"
#include "base/mutex.h"

namespace ers::store {
namespace {

// No whole number of seconds: each time another part of the servers' seconds
// is met.
constexpr net::Duration kTurn = std::chrono::milliseconds(3300);
// memcached shows whole seconds, of a clock that it began at a whole second.
constexpr std::int64_t kShownLate = 2 * kMicrosPerSecond;
// What is later is no time.
constexpr std::uint64_t kMaxSeconds = 1ULL << 40;

std::int64_t MicrosOf(net::TimePoint time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             time.time_since_epoch())
      .count();
}

// That of which half of the others are above, or the one below that.
std::int64_t Median(std::vector<std::int64_t> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::int64_t ClusterClock::Micros(net::Runtime& runtime) const {
  const std::optional<std::int64_t> agreed = Agreed(runtime.Now());
  return agreed ? *agreed : runtime.WallMicros();
}

std::optional<std::int64_t> ClusterClock::Agreed(net::TimePoint now) const {
  const std::int64_t ahead = ahead_.load(std::memory_order_acquire);
  if (ahead == kUnknown) return std::nullopt;
  return std::max(MicrosOf(now) + ahead,
                  least_.load(std::memory_order_relaxed));
}

bool ClusterClock::TakeTurn(net::TimePoint now) {
  const net::TimePoint::rep ticks = now.time_since_epoch().count();
  net::TimePoint::rep next = next_turn_.load(std::memory_order_relaxed);
  return ticks >= next && next_turn_.compare_exchange_strong(
                              next, (now + kTurn).time_since_epoch().count(),
                              std::memory_order_relaxed);
}

void ClusterClock::Note(net::Runtime& runtime, int member,
                        std::uint64_t seconds, net::TimePoint asked) {
  if (seconds > kMaxSeconds) return;
  const MutexLock lock(mutex_);
  const std::int64_t shown =
      static_cast<std::int64_t>(seconds) * kMicrosPerSecond;
  const net::TimePoint answered = runtime.Now();
  bounds_[static_cast<std::size_t>(member)] = {
      shown - MicrosOf(answered), shown + kShownLate - MicrosOf(asked)};
  const std::optional<Bounds> median = MedianLocked();
  if (!median) return;
  const std::int64_t before = ahead_.load(std::memory_order_relaxed);
  std::int64_t ahead = before;
  if (before == kUnknown) {
    ahead = runtime.WallMicros() - MicrosOf(answered);
    (void)TakeTurn(answered);
  }
  if (ahead < median->low || ahead > median->high) {
    ahead = median->low + (median->high - median->low) / 2;
  }
  if (ahead == before) return;
  if (before != kUnknown && ahead < before) {
    least_.store(Micros(runtime), std::memory_order_relaxed);
  }
  ahead_.store(ahead, std::memory_order_release);
}

std::optional<ClusterClock::Bounds> ClusterClock::MedianLocked() const {
  std::vector<std::int64_t> lows;
  std::vector<std::int64_t> highs;
  for (const std::optional<Bounds>& bounds : bounds_) {
    if (!bounds) continue;
    lows.push_back(bounds->low);
    highs.push_back(bounds->high);
  }
  if (2 * lows.size() < bounds_.size()) return std::nullopt;
  return Bounds{Median(std::move(lows)), Median(std::move(highs))};
}

}  // namespace ers::store
