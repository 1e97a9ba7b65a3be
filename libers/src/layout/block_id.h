// Numbering of the blocks of one group, stable over the object's life, also
// where its m changes: it is part of every block's key
// (docs/reference/format.md).
//
//   [0, l)   data blocks D_0 .. D_{l-1}
//   then for each parity index p = 0 .. m-1
//     l/k    narrow parity, by stripe
//     l/k'   wide parity, by row
//
// Schemes that are not elastic have no wide parity.
#ifndef ERS_LAYOUT_BLOCK_ID_H_
#define ERS_LAYOUT_BLOCK_ID_H_

#include <cstdint>

namespace ers::layout {

using BlockId = std::uint32_t;

}  // namespace ers::layout

#endif  // ERS_LAYOUT_BLOCK_ID_H_
