// From which length on a value is worth coding.
#ifndef ERS_INLINE_LIMIT_H_
#define ERS_INLINE_LIMIT_H_

#include <cstddef>

#include "ers/export.h"
#include "ers/options.h"
#include "ers/scheme.h"

namespace ers {

// The shortest value, in bytes, that takes an eighth less of the servers'
// memory coded than whole on max_failures + 1 of them; at most kMaxInlineAuto.
// By what memcached charges for items; pages that are half empty are not in it.
// `scheme` must be valid and have the width. Any thread.
ERS_API std::size_t WorthCoding(const Scheme& scheme, Width width, Unit unit,
                                int max_failures, std::size_t key_bytes);

}  // namespace ers

#endif  // ERS_INLINE_LIMIT_H_
