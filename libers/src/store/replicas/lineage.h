// What a manifest says of the changes that led to it.
#ifndef ERS_STORE_REPLICAS_LINEAGE_H_
#define ERS_STORE_REPLICAS_LINEAGE_H_

#include <optional>
#include <vector>

#include "store/format/manifest.h"

namespace ers::store {

// The history of `next`, whose id is set, as it replaces `before` (null:
// nothing). What it was made over is always in it. Where not all have room, the
// last change of each maker stays longest: a maker has no more than one of a
// key under way, and it is that one which it may ask for.
std::vector<ChangeTag> HistoryAfter(const Manifest* before,
                                    const Manifest& next);

// Is `id`, a change of `base` (null: of nothing) and the last of its maker,
// among the changes that led to `now`, which all replicas show? Empty: not
// known.
std::optional<bool> Happened(const ChangeId& id, const Manifest* base,
                             const Manifest& now);

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_LINEAGE_H_
