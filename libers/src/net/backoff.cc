#include "net/backoff.h"

#include <algorithm>

namespace ers::net {
namespace {

constexpr int kMaxDoublings = 20;  // more only overflow

}  // namespace

Duration Backoff::Next(std::uint64_t random) {
  const int doublings = std::min(tries_++, kMaxDoublings);
  const Duration half = std::min(most_, first_ * (1 << doublings)) / 2;
  const auto choices = static_cast<std::uint64_t>(half.count()) + 1;
  return half + Duration(static_cast<std::int64_t>(random % choices));
}

}  // namespace ers::net
