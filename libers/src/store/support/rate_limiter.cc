#include "store/support/rate_limiter.h"

#include <algorithm>
#include <chrono>

namespace ers::store {
namespace {

using Seconds = std::chrono::duration<double>;

}  // namespace

void RateLimiter::Fill(net::TimePoint now) {
  const auto rate = static_cast<double>(rate_);
  tokens_ += rate * Seconds(now - last_).count();
  tokens_ = std::min(tokens_, rate * Seconds(kBurst).count());
  last_ = now;
}

net::Duration RateLimiter::Take(std::uint64_t estimate, net::TimePoint now) {
  if (rate_ == 0) return {};
  Fill(now);
  if (tokens_ < 0) {
    // Rounded up: a caller that asks again then does not wait for nothing.
    return std::chrono::ceil<net::Duration>(
               Seconds(-tokens_ / static_cast<double>(rate_))) +
           std::chrono::nanoseconds(1);
  }
  tokens_ -= static_cast<double>(estimate);
  return {};
}

void RateLimiter::Correct(std::uint64_t estimate, std::uint64_t actual) {
  tokens_ += static_cast<double>(estimate) - static_cast<double>(actual);
}

}  // namespace ers::store
