#include "store/support/read_window.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace ers::store {
namespace {

// A few packets at least are on their way.
constexpr std::size_t kLeast = std::size_t{16} << 10;
// A rate is that of so much at least: what a shaped link lets through in a
// burst is a small part of it.
constexpr std::size_t kTimed = std::size_t{256} << 10;
// Compared is what would bring so much, and takes so long: servers that send
// by turns make pauses.
constexpr std::size_t kCompared = std::size_t{64} << 10;
constexpr net::Duration kMinCompared = std::chrono::milliseconds(2);
// Of the rate known: what a link brings varies by less.
constexpr double kLag = 0.7;
// A server on a busy machine takes so long to wake up.
constexpr net::Duration kMinTravel = std::chrono::microseconds(500);

double SecondsOf(net::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ReadWindow::ReadWindow(LinkSpeed& speed, net::TimePoint now)
    : speed_(&speed), known_(speed.Known(now)) {
  if (!known_) return;
  // Twice, as what was asked for first has to travel, and then to come.
  const net::Duration travel = 2 * std::max(known_->travel, kMinTravel);
  size_ = std::max(kLeast,
                   static_cast<std::size_t>(known_->rate * SecondsOf(travel)));
}

void ReadWindow::Asked(std::size_t size) {
  coming_ += size;
  lags_ = false;  // this may be enough
}

// The least: a block that waited behind others on the link did not travel.
void ReadWindow::Travelled(net::Duration time) {
  travel_ = travel_ ? std::min(*travel_, time) : time;
}

void ReadWindow::Came(std::size_t size, net::TimePoint now) {
  coming_ -= std::min(coming_, size);
  if (!began_) {
    began_ = true;
    timed_.begun = now;
    compared_.begun = now;
    return;
  }
  timed_.came += size;
  compared_.came += size;
  Time(now);
  if (known_) Compare(now);
}

void ReadWindow::Time(net::TimePoint now) {
  if (timed_.came < kTimed) return;
  const double spent = SecondsOf(now - timed_.begun);
  if (spent > 0) rates_.push_back(static_cast<double>(timed_.came) / spent);
  timed_ = {0, now};
}

void ReadWindow::Compare(net::TimePoint now) {
  const net::Duration spent = now - compared_.begun;
  const double due = known_->rate * SecondsOf(spent);
  if (spent < kMinCompared || due < static_cast<double>(kCompared)) return;
  lags_ = static_cast<double>(compared_.came) < kLag * due;
  compared_ = {0, now};
}

// The middle one, where there are three: what piled up while this process did
// not run comes at the speed of memory then, and the last of it may be one slow
// server's.
void ReadWindow::End(net::TimePoint now) {
  if (rates_.empty() || !travel_) return;
  // It asked for little, and what that was chosen by is forgotten by now.
  if (known_ && !speed_->Known(now)) return;
  const auto middle = rates_.begin() + std::ssize(rates_) / 2;
  std::nth_element(rates_.begin(), middle, rates_.end());
  speed_->Learn({*middle, *travel_}, now);
}

}  // namespace ers::store
