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

// Unique, and ordered by time among one process's changes. Zero means none.
struct ChangeId {
  std::uint64_t time_us = 0;  // Unix microseconds at its making, never repeated
  std::uint64_t nonce = 0;  // kMakerBits random per maker, above them the mark
  // Of the view under which it was made.
  [[nodiscard]] FlushMark flush_mark() const {
    return static_cast<FlushMark>(nonce >> kMakerBits);
  }
  [[nodiscard]] std::uint64_t maker() const {
    return nonce & ((1ULL << kMakerBits) - 1);
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
