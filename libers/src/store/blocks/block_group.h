// BlockGroup: one group of one object, as an operation sees it.
#ifndef ERS_STORE_BLOCKS_BLOCK_GROUP_H_
#define ERS_STORE_BLOCKS_BLOCK_GROUP_H_

#include <cstddef>

#include "store/format/object_map.h"
#include "store/membership/session.h"
#include "store/support/step_timer.h"

namespace ers::store {

// What it refers to outlives all that is made with it.
struct BlockGroup {
  Session& session;
  const ObjectMap& map;
  const int group;
  StepTimer* const timer;  // null: nothing is timed

  [[nodiscard]] std::size_t BlockBytes(layout::BlockId block) const {
    return map.BlockBytes(group, block);
  }
  void Begin(RequestStep step) const {
    if (timer != nullptr) timer->Begin(step);
  }
  void End(RequestStep step) const {
    if (timer != nullptr) timer->End(step);
  }
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_BLOCK_GROUP_H_
