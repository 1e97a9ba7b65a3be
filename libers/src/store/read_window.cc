#include "store/read_window.h"

#include <algorithm>
#include <chrono>

namespace ers::store {
namespace {

// At least so much until the link is known, and at most where little is left:
// enough for links of 10 Gbit/s and requests that travel for 0.1 ms.
constexpr std::size_t kUnknown = std::size_t{96} << 10;
// A few packets at least are on their way.
constexpr std::size_t kLeast = std::size_t{16} << 10;
// What is timed at once: more than what a shaped link lets through in a burst.
constexpr std::size_t kStretch = std::size_t{64} << 10;
// Of the best seen: what a link brings varies by less.
constexpr double kLag = 0.7;
// A server on a busy machine takes so long to wake up.
constexpr net::Duration kLeastTravel = std::chrono::microseconds(500);

}  // namespace

void ReadWindow::Asked(std::size_t size) {
  unasked_ -= std::min(unasked_, size);
  coming_ += size;
  lags_ = false;  // this may be enough
}

void ReadWindow::Came(std::size_t size, net::TimePoint now) {
  coming_ -= std::min(coming_, size);
  last_came_at_ = now;
  if (!first_came_at_) {
    first_came_at_ = now;
    stretch_begun_ = now;
    return;
  }
  came_ += size;
  Compare(size, now);
}

void ReadWindow::Compare(std::size_t size, net::TimePoint now) {
  stretch_ += size;
  const double spent =
      std::chrono::duration<double>(now - stretch_begun_).count();
  const auto came = static_cast<double>(stretch_);
  // As soon as it is sure to lag.
  lags_ = best_ > 0 && came < kLag * best_ * spent &&
          best_ * spent > static_cast<double>(kStretch);
  if (stretch_ < kStretch && !lags_) return;
  if (spent > 0) best_ = std::max(best_, came / spent);
  stretch_ = 0;
  stretch_begun_ = now;
}

std::size_t ReadWindow::Size() const {
  const std::size_t most = std::max(kUnknown, (unasked_ + coming_) / 4);
  if (came_ == 0 || last_came_at_ <= *first_came_at_) return most;
  // Twice, as what was asked for first has to travel, and then to come.
  const net::Duration travel = 2 * std::max(travel_, kLeastTravel);
  const double share =
      std::chrono::duration<double>(travel) / (last_came_at_ - *first_came_at_);
  const double enough = static_cast<double>(came_) * share;
  if (enough >= static_cast<double>(most)) return most;
  return std::max(kLeast, static_cast<std::size_t>(enough));
}

}  // namespace ers::store
