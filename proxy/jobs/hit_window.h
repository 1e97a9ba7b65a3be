// HitWindow: which keys are hit how often within a time.
#ifndef ERS_PROXY_JOBS_HIT_WINDOW_H_
#define ERS_PROXY_JOBS_HIT_WINDOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/runtime.h"

namespace ers::proxy {

// Remembers the keys hit last, so many of them. A hit counts for the time, or
// up to an eighth of it less. Thread-compatible; the clock is the caller's and
// does not go back.
class HitWindow {
 public:
  // REQUIRES: hits > 0, within > 0, keys > 0
  HitWindow(std::uint64_t hits, net::Duration within, std::size_t keys);

  // True: with these, the key was hit often enough; its count begins anew.
  bool Add(std::string_view key, std::uint64_t hits, net::TimePoint now);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::int64_t kSlots = 8;
  struct Entry {
    std::string key;
    std::int64_t slot = 0;  // the last one that was hit
    std::array<std::uint64_t, kSlots> hits{};
  };
  using Order = std::list<Entry>;

  void Erase(Order::iterator at);

  const std::uint64_t enough_;
  const net::Duration slot_;
  const std::size_t most_;
  Order entries_;  // hit last first
  // Views into the entries' own keys.
  std::unordered_map<std::string_view, Order::iterator> places_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_HIT_WINDOW_H_
