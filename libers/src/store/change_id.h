// ChangeId: the name of one change of one object; also the generation of the
// blocks it staged.
#ifndef ERS_STORE_CHANGE_ID_H_
#define ERS_STORE_CHANGE_ID_H_

#include <compare>
#include <cstdint>
#include <string>

#include "net/runtime.h"

namespace ers::store {

// Unique, and ordered by time among one process's changes. Zero means none.
struct ChangeId {
  std::uint64_t time_us = 0;  // Unix microseconds at its making, never repeated
  std::uint64_t nonce = 0;    // random per maker
  auto operator<=>(const ChangeId&) const = default;
  explicit operator bool() const { return time_us != 0 || nonce != 0; }
};

// 32 hex digits, time first.
std::string FormatChangeId(const ChangeId& id);

// Makes ids of one loop: the clock, forced to rise, and a nonce drawn once.
// Loop thread only.
class ChangeIdSource {
 public:
  explicit ChangeIdSource(net::Runtime& runtime);
  ChangeId Next();
  [[nodiscard]] std::uint64_t nonce() const { return nonce_; }

 private:
  net::Runtime& runtime_;
  std::uint64_t nonce_;
  std::uint64_t last_us_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_CHANGE_ID_H_
