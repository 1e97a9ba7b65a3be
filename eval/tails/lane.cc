#include "tails/lane.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace ers::eval {

net::TimePoint Wire::Pass(std::size_t bytes, std::uint64_t bits_per_s,
                          net::TimePoint now) {
  if (bits_per_s == 0) return now;
  constexpr double kNanosPerByte = 8e9;
  const auto takes = std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(bytes) * kNanosPerByte /
                                static_cast<double>(bits_per_s)));
  free_at_ = std::max(free_at_, now) + takes;
  return free_at_;
}

void Lane::Push(std::string_view bytes, net::TimePoint due,
                std::uint64_t depth) {
  // A stream has an order: what is late holds up what comes behind it.
  if (!pieces_.empty()) due = std::max(due, pieces_.back().due);
  pieces_.push_back({std::string(bytes), due, depth});
  bytes_ += bytes.size();
}

Lane::Left Lane::Flush(net::Stream& to, net::TimePoint now,
                       std::uint64_t& depth) {
  while (!pieces_.empty()) {
    Piece& first = pieces_.front();
    if (first.due > now) return Left::kLater;
    const iovec piece = {first.bytes.data() + sent_,
                         first.bytes.size() - sent_};
    const ssize_t moved = to.WriteV(&piece, 1);
    if (moved < 0) return errno == EAGAIN ? Left::kBlocked : Left::kBroken;
    sent_ += static_cast<std::size_t>(moved);
    bytes_ -= static_cast<std::size_t>(moved);
    if (sent_ < first.bytes.size()) continue;
    depth = std::max(depth, first.depth);
    pieces_.pop_front();
    sent_ = 0;
  }
  return Left::kNothing;
}

std::optional<net::TimePoint> Lane::NextDue() const {
  if (pieces_.empty()) return {};
  return pieces_.front().due;
}

}  // namespace ers::eval
