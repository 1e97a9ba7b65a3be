// Which values ride in their manifests, whole: those that are too small for
// coding to save memory.
#ifndef ERS_STORE_BLOCKS_INLINE_LIMIT_H_
#define ERS_STORE_BLOCKS_INLINE_LIMIT_H_

#include <cstddef>

#include "ers/options.h"
#include "ers/scheme.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"

namespace ers::store {

// The shortest value, in bytes, that takes an eighth less of the servers'
// memory coded than whole on f + 1 of them; at most kMaxInlineAuto. By what
// memcached charges for items; pages that are half empty are not in it.
std::size_t WorthCoding(const Scheme& scheme, Width width, Unit unit,
                        int max_failures, std::size_t key_bytes);

// The limit for the object of `manifest` (key, scheme, width and unit): that of
// the options, or the one above.
std::size_t InlineBelow(const Session& session, const Manifest& manifest,
                        const ClientOptions& options);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_INLINE_LIMIT_H_
