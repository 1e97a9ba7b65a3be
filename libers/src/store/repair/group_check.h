// Checking one group of an object: every block, and parity against data.
#ifndef ERS_STORE_REPAIR_GROUP_CHECK_H_
#define ERS_STORE_REPAIR_GROUP_CHECK_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "ers/verify.h"
#include "net/task.h"
#include "store/format/object_map.h"
#include "store/membership/session.h"
#include "store/repair/repair.h"

namespace ers::store {

struct GroupCheck {
  std::vector<std::pair<layout::BlockId, Fault>> faults;
  Lacking lacking;  // what of it can be repaired now
  Status readable;  // kNotFound, kCorruption, kUnavailable: it is not, and why
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  // read
};

// Reads every block that the manifest names, and takes them all into memory;
// servers do not take it for an access. Members that are down in `view` are out
// of reach where they do not hold what they should. `map` and `view` outlive
// the task.
net::Task<GroupCheck> CheckGroup(Session& session, const ObjectMap& map,
                                 int group, const View& view);

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_GROUP_CHECK_H_
