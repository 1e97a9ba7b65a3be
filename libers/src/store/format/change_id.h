// ChangeId: the name of one change of one object; also the generation of the
// blocks it staged.
#ifndef ERS_STORE_FORMAT_CHANGE_ID_H_
#define ERS_STORE_FORMAT_CHANGE_ID_H_

#include <compare>
#include <cstdint>
#include <string>

#include "net/runtime.h"
#include "store/support/cluster_clock.h"

namespace ers::store {

// Which of the cluster's flushes it was that changes are behind; 0: none was.
using FlushMark = std::uint32_t;
inline constexpr int kMakerBits = 40;
inline constexpr FlushMark kMaxFlushMark = (1U << (64 - kMakerBits)) - 1;

// What a manifest remembers of a change before: its time, and 16 bits of its
// maker. Two makers that share them, and changed one key in the same
// microsecond, would pass for each other.
struct ChangeTag {
  std::uint64_t time_us = 0;
  std::uint16_t maker = 0;
  auto operator<=>(const ChangeTag&) const = default;
};

// Unique, and ordered by time among one process's changes. Zero means none.
struct ChangeId {
  // Unix microseconds at its making, never repeated; below 2^56, the year 4253.
  std::uint64_t time_us = 0;
  std::uint64_t nonce = 0;  // kMakerBits random per maker, above them the mark
  // Of the view under which it was made.
  [[nodiscard]] FlushMark flush_mark() const {
    return static_cast<FlushMark>(nonce >> kMakerBits);
  }
  [[nodiscard]] std::uint64_t maker() const {
    return nonce & ((1ULL << kMakerBits) - 1);
  }
  [[nodiscard]] ChangeTag tag() const { return {time_us, TagOf(maker())}; }
  static std::uint16_t TagOf(std::uint64_t maker) {
    return static_cast<std::uint16_t>(maker >> (kMakerBits - 16));
  }
  auto operator<=>(const ChangeId&) const = default;
  explicit operator bool() const { return time_us != 0 || nonce != 0; }
};

// 32 hex digits, time first.
std::string FormatChangeId(const ChangeId& id);

// Makes ids of one loop: the cluster's time, forced to rise, and a number drawn
// once.
// Loop thread only.
class ChangeIdSource {
 public:
  ChangeIdSource(net::Runtime& runtime, const ClusterClock& clock);
  ChangeId Next(FlushMark mark);
  [[nodiscard]] std::uint64_t maker() const { return maker_; }

 private:
  net::Runtime& runtime_;
  const ClusterClock& clock_;
  std::uint64_t maker_;
  std::uint64_t last_us_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_CHANGE_ID_H_
