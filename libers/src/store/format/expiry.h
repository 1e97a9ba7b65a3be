// Expiry: the manifest's absolute time is the primary; items live a slack
// longer.
#ifndef ERS_STORE_FORMAT_EXPIRY_H_
#define ERS_STORE_FORMAT_EXPIRY_H_

#include <cstdint>

#include "store/format/manifest.h"

namespace ers::store {

// `expiry` in Unix seconds (0 never), `now_us` in Unix microseconds.
bool IsExpired(std::int64_t expiry, std::int64_t now_us);
// memcached's exptime for the items of an object with this expiry.
std::int64_t BlockExptime(std::int64_t expiry, std::int64_t now_us);
// Of an item that has only memcached to end it; the object is not expired.
std::int64_t PlainExptime(std::int64_t expiry, std::int64_t now_us);
// Does an object with this expiry live on when one with the other has ended?
bool LivesLonger(std::int64_t expiry, std::int64_t than);
// Does an item with so many seconds left (-1: it never expires) end before its
// object does?
bool EndsBefore(std::int64_t item_ttl, std::int64_t expiry,
                std::int64_t now_us);
// That of an object whose blocks may outlive it ends a year later than it does.
std::int64_t ManifestExptime(const Manifest& manifest, std::int64_t now_us);
// Is the object of such a manifest over, by when the item ends (Unix seconds)?
// Also true of an object that was given more than a month from the start.
bool MayHaveEnded(std::int64_t item_expiry, std::int64_t now_us);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_EXPIRY_H_
