#include "plan/availability.h"

#include <cassert>

namespace ers::plan {

Availability::Availability(const Geometry& geometry, const Missing& missing,
                           std::span<const BlockId> lost)
    : geometry_(geometry),
      dead_(geometry.node_count(), 0),
      missing_(geometry.block_id_count(), 0) {
  for (const int node : missing.dead_nodes) {
    assert(node >= 0 && node < geometry.node_count());
    dead_[node] = 1;
  }
  if (!missing.dead_nodes.empty()) {
    for (std::size_t id = 0; id < missing_.size(); ++id) {
      missing_[id] = dead_[geometry.NodeOf(static_cast<BlockId>(id))];
    }
  }
  for (const auto& blocks : {std::span<const BlockId>(missing.blocks), lost}) {
    for (const BlockId id : blocks) {
      assert(id < missing_.size());
      missing_[id] = 1;
    }
  }
  for (int p = 0; p < geometry.scheme().m; ++p) {
    if (dead_[geometry.scheme().kp + p] == 0) live_parities_.push_back(p);
  }
}

}  // namespace ers::plan
