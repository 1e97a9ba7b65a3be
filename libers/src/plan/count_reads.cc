#include "plan/planners.h"

namespace ers::plan {

ReadCount CountReads(const Geometry& geometry, const Plan& plan) {
  ReadCount count;
  for (const BlockId id : plan.reads) {
    ++(geometry.IsData(id) ? count.data : count.parity);
  }
  return count;
}

}  // namespace ers::plan
