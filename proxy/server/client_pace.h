// ClientPace: how fast a client moves bytes, and since when it has moved none.
#ifndef ERS_PROXY_SERVER_CLIENT_PACE_H_
#define ERS_PROXY_SERVER_CLIENT_PACE_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "net/runtime.h"

namespace ers::proxy {

// A plain value.
class ClientPace {
 public:
  // No rate is of a shorter time.
  static constexpr net::Duration kWindow = std::chrono::seconds(5);

  explicit ClientPace(net::TimePoint now) : moved_at_(now) {}

  // Bytes have come from the client, or have gone to it.
  void Moved(std::uint64_t bytes, net::TimePoint now) {
    moved_ += bytes;
    moved_at_ = now;
  }
  // Nothing has moved from `then` on.
  [[nodiscard]] bool IdleSince(net::TimePoint then) const {
    return moved_at_ < then;
  }

  // Bytes per second since the last measure, `unread` ones counted as moved.
  // Nothing where memory waits for something other than the client now
  // (`clients_turn` is false), where the last measure was before `since`, or
  // where it is no kWindow ago: then this is no measure.
  std::optional<double> Rate(net::TimePoint now, net::TimePoint since,
                             bool clients_turn, std::uint64_t unread);
  // As if there had been no measure.
  void Forget() { measured_ = net::TimePoint(); }

 private:
  std::uint64_t moved_ = 0;
  net::TimePoint moved_at_;
  // The last measure, and how much was moved by then.
  net::TimePoint measured_;
  std::uint64_t moved_then_ = 0;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_CLIENT_PACE_H_
