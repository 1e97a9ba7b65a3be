// Giving the blocks of an object a longer life.
#ifndef ERS_STORE_BLOCKS_EXTEND_H_
#define ERS_STORE_BLOCKS_EXTEND_H_

#include <set>
#include <utility>
#include <vector>

#include "net/task.h"
#include "store/format/object_map.h"
#include "store/membership/session.h"
#include "store/support/step_timer.h"

namespace ers::store {

// A group and one of its blocks.
using PlacedBlock = std::pair<int, layout::BlockId>;

// Takes the end away that these blocks have on members that are not out: they
// end with their object from then on, as garbage does. An end of its own could
// be overtaken on its way by a later one and shorten that. One that is missing
// is missing as it was. The members that did not answer.
net::Task<std::set<int>> ExtendBlocks(Session& session, const ObjectMap& map,
                                      std::vector<PlacedBlock> blocks,
                                      StepTimer* steps);

// All of them, before a manifest promises a longer life. A member that is
// silent leaves, as with every change: its backfill sees blocks that end too
// early. kUnavailable: it may not leave.
net::Task<Status> ExtendObject(Session& session, const ObjectMap& map,
                               StepTimer* steps);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_EXTEND_H_
