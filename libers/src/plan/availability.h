// What a planner may read and write, as tables that are quick to read.
#ifndef ERS_PLAN_AVAILABILITY_H_
#define ERS_PLAN_AVAILABILITY_H_

#include <span>
#include <vector>

#include "layout/geometry.h"
#include "plan/planners.h"

namespace ers::plan {

// Immutable; refers to `geometry`, which must outlive it.
class Availability {
 public:
  // `lost` are missing too.
  Availability(const Geometry& geometry, const Missing& missing,
               std::span<const BlockId> lost = {});

  bool Readable(BlockId id) const { return missing_[id] == 0; }
  bool Writable(BlockId id) const { return dead_[geometry_.NodeOf(id)] == 0; }
  // The parity indices whose node is not dead, ascending.
  const std::vector<int>& live_parities() const { return live_parities_; }

 private:
  const Geometry& geometry_;
  std::vector<char> dead_;     // by node
  std::vector<char> missing_;  // by block id
  std::vector<int> live_parities_;
};

}  // namespace ers::plan

#endif  // ERS_PLAN_AVAILABILITY_H_
