#include "store/support/link_speed.h"

#include <algorithm>
#include <chrono>

namespace ers::store {
namespace {

constexpr net::Duration kKept = std::chrono::minutes(1);

}  // namespace

std::optional<LinkSpeed::Seen> LinkSpeed::Known(net::TimePoint now) const {
  if (seen_ && now - learnt_at_ >= kKept) return std::nullopt;
  return seen_;
}

void LinkSpeed::Learn(const Seen& seen, net::TimePoint now) {
  if (!Known(now)) {
    seen_ = seen;
    learnt_at_ = now;
    return;
  }
  seen_->rate = std::max(seen_->rate, seen.rate);
  seen_->travel = std::min(seen_->travel, seen.travel);
}

}  // namespace ers::store
