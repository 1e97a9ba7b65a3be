// Exptimes of memcached: as a client writes them, and as points in time.
#ifndef ERS_PROXY_PROTOCOL_EXPTIME_H_
#define ERS_PROXY_PROTOCOL_EXPTIME_H_

#include <cstdint>
#include <string_view>

#include "protocol/words.h"

namespace ers::proxy {

// The exptime of a text or meta command. memcached has 32 bits for it: of a
// longer number the lowest count, and 2147483648 to 4294967295 are negative.
[[nodiscard]] inline bool ParseExptime(std::string_view text,
                                       std::int64_t& exptime) {
  if (!ParseNumber(text, exptime)) return false;
  exptime = static_cast<std::int32_t>(exptime);
  return true;
}

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
