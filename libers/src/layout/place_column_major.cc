#include "layout/placement.h"

namespace ers::layout {

Placement PlaceColumnMajor(const Scheme& scheme) {
  const int blocks = GroupDataBlocks(scheme);
  const int rows = blocks / scheme.kp;
  const int stripes = blocks / scheme.k;
  Placement placement;
  placement.reserve(blocks);
  for (int block = 0; block < blocks; ++block) {
    placement.push_back(
        {block % rows, block / rows, block % stripes, block / stripes});
  }
  return placement;
}

}  // namespace ers::layout
