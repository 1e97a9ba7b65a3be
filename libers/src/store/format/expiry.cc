#include "store/format/expiry.h"

#include <algorithm>
#include <limits>

#include "base/micros.h"

namespace ers::store {
namespace {

constexpr std::int64_t kSlackSeconds = 60;
constexpr std::int64_t kTombstoneSeconds = 120;
constexpr std::int64_t kDay = 60LL * 60 * 24;
// memcached takes larger numbers for absolute times (protocol.txt, "Expiration
// times").
constexpr std::int64_t kMaxRelativeSeconds = 30 * kDay;
// How much longer a manifest lives whose blocks have no end: longer than most
// objects are given, so that listings show which is which.
constexpr std::int64_t kOutlivedSeconds = 365 * kDay;
constexpr std::int64_t kUsualSeconds = 31 * kDay;

}  // namespace

bool IsExpired(std::int64_t expiry, std::int64_t now_us) {
  return expiry != 0 && now_us / kMicrosPerSecond >= expiry;
}

std::int64_t BlockExptime(std::int64_t expiry, std::int64_t now_us) {
  if (expiry == 0) return 0;
  const std::int64_t left =
      std::max<std::int64_t>(0, expiry - now_us / kMicrosPerSecond) +
      kSlackSeconds;
  if (left <= kMaxRelativeSeconds) return left;
  // memcached reads exptime as 32 bits and takes what is larger for past; the
  // manifest's own expiry still holds where the item has none.
  constexpr std::int64_t kLast =
      std::numeric_limits<std::int32_t>::max() - kSlackSeconds;
  return expiry <= kLast ? expiry + kSlackSeconds : 0;
}

std::int64_t PlainExptime(std::int64_t expiry, std::int64_t now_us) {
  if (expiry == 0) return 0;
  const std::int64_t left =
      std::max<std::int64_t>(1, expiry - now_us / kMicrosPerSecond);
  if (left <= kMaxRelativeSeconds) return left;
  // The last that memcached knows: too early is better than never.
  return std::min<std::int64_t>(expiry,
                                std::numeric_limits<std::int32_t>::max());
}

bool LivesLonger(std::int64_t expiry, std::int64_t than) {
  return than != 0 && (expiry == 0 || expiry > than);
}

bool EndsBefore(std::int64_t item_ttl, std::int64_t expiry,
                std::int64_t now_us) {
  if (item_ttl < 0) return false;
  return LivesLonger(expiry, now_us / kMicrosPerSecond + item_ttl);
}

std::int64_t ManifestExptime(const Manifest& manifest, std::int64_t now_us) {
  if (manifest.tombstone) return kTombstoneSeconds;
  const bool longer = manifest.outlived && manifest.expiry != 0;
  return BlockExptime(manifest.expiry + (longer ? kOutlivedSeconds : 0),
                      now_us);
}

bool MayHaveEnded(std::int64_t item_expiry, std::int64_t now_us) {
  const std::int64_t left = item_expiry - now_us / kMicrosPerSecond;
  return item_expiry >= 0 && left > kUsualSeconds &&
         left <= kOutlivedSeconds + kSlackSeconds;
}

}  // namespace ers::store
