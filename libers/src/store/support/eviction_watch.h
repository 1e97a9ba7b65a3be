// EvictionWatch: do servers evict, and after how long without an access.
#ifndef ERS_STORE_SUPPORT_EVICTION_WATCH_H_
#define ERS_STORE_SUPPORT_EVICTION_WATCH_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "net/runtime.h"

namespace ers::store {

// After how long without an access a server evicts, by its `stats items`: the
// shortest of its slab classes, and a second at least. Empty: it has evicted
// nothing.
std::optional<std::chrono::seconds> EvictionAge(std::string_view stats_items);

// What all loops of a process know of it. Any thread.
class EvictionWatch {
 public:
  // True for one caller in each while: it asks the servers, then calls Set.
  // Where the process `rests` that is each half minute: servers report much.
  bool TakeTurn(net::TimePoint now, bool rests);
  // The shortest of all servers' ages; empty: none evicts.
  void Set(std::optional<std::chrono::seconds> age);
  // How long something may be left without an access that is to live as long
  // as what is accessed again and again. Empty: for ever.
  [[nodiscard]] std::optional<net::Duration> touch_period() const;

 private:
  static constexpr std::int64_t kForEver = -1;

  std::atomic<net::TimePoint::rep> next_turn_ = 0;
  std::atomic<std::int64_t> age_s_ = kForEver;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_EVICTION_WATCH_H_
