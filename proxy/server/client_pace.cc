#include "server/client_pace.h"

#include <utility>

namespace ers::proxy {

std::optional<double> ClientPace::Rate(net::TimePoint now, net::TimePoint since,
                                       bool clients_turn,
                                       std::uint64_t unread) {
  const std::uint64_t moved = moved_ + unread;
  const bool known = clients_turn && measured_ >= since;
  if (known && now - measured_ < kWindow) return std::nullopt;
  const std::chrono::duration<double> passed =
      now - std::exchange(measured_, now);
  const auto bytes =
      static_cast<double>(moved - std::exchange(moved_then_, moved));
  if (!known) return std::nullopt;
  return bytes / passed.count();
}

}  // namespace ers::proxy
