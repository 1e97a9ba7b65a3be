#include "layout/placement.h"

namespace ers::layout {

Placement PlaceRowMajor(const Scheme& scheme) {
  const int blocks = GroupDataBlocks(scheme);
  Placement placement;
  placement.reserve(blocks);
  for (int block = 0; block < blocks; ++block) {
    placement.push_back({block / scheme.kp, block % scheme.kp, block / scheme.k,
                         block % scheme.k});
  }
  return placement;
}

}  // namespace ers::layout
