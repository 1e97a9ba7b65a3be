// Dropping blocks that no manifest names any more.
#ifndef ERS_STORE_BLOCKS_DROPPING_H_
#define ERS_STORE_BLOCKS_DROPPING_H_

#include <memory>
#include <set>

#include "store/format/manifest.h"
#include "store/format/object_map.h"
#include "store/membership/session.h"

namespace ers::store {

// All work in the background. A delete that does not arrive leaves garbage,
// no harm.

// Deletes the blocks that `old` names and `kept` (null: nothing is kept) does
// not. Values of several groups may still be streamed by readers: their blocks
// live on for the seconds that reading takes (docs/internals/commit.md).
void DropReplaced(Session& session, std::shared_ptr<const Manifest> old,
                  std::shared_ptr<const Manifest> kept);

// Deletes the blocks that an abandoned change staged: those of its own
// generation, and no others.
void DropStaged(Session& session, const Manifest& abandoned);

// Deletes those of `blocks`, of one group of `from`, that `kept` (null: nothing
// is kept) does not name: a late reader put them back.
void DropOutdated(Session& session, const ObjectMap& from, int group,
                  const std::set<layout::BlockId>& blocks,
                  std::shared_ptr<const Manifest> kept);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_DROPPING_H_
