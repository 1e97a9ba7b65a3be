#include "jobs/hit_window.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ers::proxy {

HitWindow::HitWindow(std::uint64_t hits, net::Duration within, std::size_t keys)
    : enough_(hits),
      slot_(std::max(within / kSlots, net::Duration(1))),
      most_(keys) {}

bool HitWindow::Add(std::string_view key, std::uint64_t hits,
                    net::TimePoint now) {
  const std::int64_t slot = now.time_since_epoch() / slot_;
  const auto found = places_.find(key);
  if (found == places_.end()) {
    if (hits >= enough_) return true;
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
  if (sum < enough_) return false;
  Erase(entries_.begin());
  return true;
}

void HitWindow::Erase(Order::iterator at) {
  places_.erase(at->key);
  entries_.erase(at);
}

}  // namespace ers::proxy
