#include "jobs/hit_window.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace ers::proxy {

HitWindow::HitWindow(std::vector<std::uint64_t> levels, net::Duration within,
                     std::size_t keys)
    : levels_(std::move(levels)),
      slot_(std::max(within / kSlots, net::Duration(1))),
      most_(keys) {}

std::uint64_t HitWindow::Add(std::string_view key, std::uint64_t hits,
                             net::TimePoint now) {
  const std::int64_t slot = now.time_since_epoch() / slot_;
  const auto found = places_.find(key);
  if (found == places_.end()) {
    entries_.push_front({std::string(key), slot, {}});
    places_.emplace(entries_.front().key, entries_.begin());
    if (entries_.size() > most_) Erase(std::prev(entries_.end()));
  } else {
    entries_.splice(entries_.begin(), entries_, found->second);
  }
  Entry& entry = entries_.front();
  // What was not hit since then counts nothing.
  const std::int64_t passed = std::min(slot - entry.slot, kSlots);
  for (std::int64_t i = 1; i <= passed; ++i) {
    entry.hits[static_cast<std::size_t>((entry.slot + i) % kSlots)] = 0;
  }
  entry.slot = slot;
  entry.hits[static_cast<std::size_t>(slot % kSlots)] += hits;
  const std::uint64_t sum =
      std::accumulate(entry.hits.begin(), entry.hits.end(), std::uint64_t{0});
  entry.since += hits;
  const auto reached = static_cast<std::size_t>(
      std::upper_bound(levels_.begin(), levels_.end(), sum) - levels_.begin());
  if (reached == 0) return 0;
  // Earlier hits count on: for a higher level, and where it was too early to do
  // anything. But not each hit is reported.
  if (reached <= entry.reported && entry.since < levels_[reached - 1]) return 0;
  entry.reported = reached;
  entry.since = 0;
  return sum;
}

void HitWindow::Erase(Order::iterator at) {
  places_.erase(at->key);
  entries_.erase(at);
}

}  // namespace ers::proxy
