// ExpiryOf: memcached's exptime as a point in time.
#ifndef ERS_PROXY_PROTOCOL_EXPTIME_H_
#define ERS_PROXY_PROTOCOL_EXPTIME_H_

#include <cstdint>

namespace ers::proxy {

// Longer than this many seconds an exptime is no longer "from now on".
inline constexpr std::int64_t kMaxRelativeExptime = 60 * 60 * 24 * 30;

// What a negative exptime becomes: a second long past.
inline constexpr std::int64_t kExpiredAtOnce = 1;

// Unix seconds, 0 for never. `now` in Unix seconds. Any thread.
constexpr std::int64_t ExpiryOf(std::int64_t exptime, std::int64_t now) {
  if (exptime == 0) return 0;
  if (exptime < 0) return kExpiredAtOnce;
  return exptime <= kMaxRelativeExptime ? now + exptime : exptime;
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_EXPTIME_H_
