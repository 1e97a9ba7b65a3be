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
#include <vector>

#include "net/runtime.h"

namespace ers::proxy {

// Remembers the keys hit last, so many of them. A hit counts for the time, or
// up to an eighth of it less. Thread-compatible; the clock is the caller's and
// does not go back.
class HitWindow {
 public:
  // What it reports, ascending, is how often a key was hit.
  // REQUIRES: levels has one or more, each > 0; within > 0, keys > 0
  HitWindow(std::vector<std::uint64_t> levels, net::Duration within,
            std::size_t keys);

  // How often the key was hit within the time, where with these it came to a
  // level higher than what was reported last, or was hit since then as often as
  // its level asks for. Else 0.
  std::uint64_t Add(std::string_view key, std::uint64_t hits,
                    net::TimePoint now);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::int64_t kSlots = 8;
  struct Entry {
    std::string key;
    std::int64_t slot = 0;  // the last one that was hit
    std::array<std::uint64_t, kSlots> hits{};
    std::size_t reported = 0;  // the levels it had come to then
    std::uint64_t since = 0;   // hits after that
  };
  using Order = std::list<Entry>;

  void Erase(Order::iterator at);

  const std::vector<std::uint64_t> levels_;
  const net::Duration slot_;
  const std::size_t most_;
  Order entries_;  // hit last first
  // Views into the entries' own keys.
  std::unordered_map<std::string_view, Order::iterator> places_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_HIT_WINDOW_H_
