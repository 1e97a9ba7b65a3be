#include "warm/flights.h"

#include <utility>

namespace ers::proxy {

bool WarmFlights::Begin(std::string_view key, Landed landed) {
  const MutexLock lock(mutex_);
  const auto found = flights_.find(key);
  if (found != flights_.end()) {
    found->second.push_back(std::move(landed));
    return false;
  }
  flights_.emplace(key, std::vector<Landed>());
  return true;
}

void WarmFlights::End(std::string_view key) {
  std::vector<Landed> waiting;
  {
    const MutexLock lock(mutex_);
    const auto found = flights_.find(key);
    if (found == flights_.end()) return;
    waiting = std::move(found->second);
    flights_.erase(found);
  }
  for (const Landed& landed : waiting) landed();
}

}  // namespace ers::proxy
