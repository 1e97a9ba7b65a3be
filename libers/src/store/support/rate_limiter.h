// RateLimiter: bytes per second, by a token bucket that may be overdrawn once.
#ifndef ERS_STORE_SUPPORT_RATE_LIMITER_H_
#define ERS_STORE_SUPPORT_RATE_LIMITER_H_

#include <cstdint>

#include "net/runtime.h"

namespace ers::store {

// What a piece of work moves is known only when it is done: an estimate is
// taken before it and corrected after it. From its making on, and whatever the
// estimates, no more than
//
//   rate * (time + kBurst) + the bytes of the work that is under way
//
// are taken. Thread-compatible; the clock is the caller's.
class RateLimiter {
 public:
  // What may be saved up while there is nothing to do.
  static constexpr net::Duration kBurst = std::chrono::milliseconds(100);

  // 0: no limit.
  RateLimiter(std::uint64_t bytes_per_second, net::TimePoint now)
      : rate_(bytes_per_second), last_(now) {}

  // Zero: `estimate` was taken, begin. Else nothing was, ask again after so
  // long.
  net::Duration Take(std::uint64_t estimate, net::TimePoint now);
  // The work for which `estimate` was taken moved `actual`.
  void Correct(std::uint64_t estimate, std::uint64_t actual);

 private:
  void Fill(net::TimePoint now);

  const std::uint64_t rate_;
  double tokens_ = 0;  // bytes that may be moved now; negative: overdrawn
  net::TimePoint last_;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_RATE_LIMITER_H_
