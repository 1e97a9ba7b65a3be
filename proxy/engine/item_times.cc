// What the time flags of a meta command see of an item's expiry.
#include <algorithm>
#include <cstdint>

#include "engine/engine.h"
#include "protocol/exptime.h"

namespace ers::proxy {

std::int64_t Engine::TtlOf(std::int64_t expiry) const {
  return expiry == 0 ? -1 : std::max<std::int64_t>(0, expiry - Now());
}

bool Engine::EndsAtOnce(const Request& request) const {
  const std::int64_t expiry = ExpiryOf(request);
  return expiry != 0 && expiry <= Now();
}

Engine::Times Engine::TimesOf(const Request& request, std::int64_t expiry,
                              bool created, std::uint64_t bytes,
                              std::uint32_t client_flags) const {
  Times times{.left = expiry, .told = expiry, .judged = expiry};
  const auto at = [&](std::int64_t exptime) {
    return Capped(request, bytes, client_flags,
                  proxy::ExpiryOf(exptime, Now()));
  };
  for (const char flag : request.time_flags) {
    switch (flag) {
      case 'N':
        if (created) times.left = at(*request.vivify);
        break;
      case 'T':
        times.left = at(*request.exptime);
        break;
      case 'R':
        times.judged = times.left;
        break;
      default:
        times.told = times.left;
        break;
    }
  }
  return times;
}

}  // namespace ers::proxy
