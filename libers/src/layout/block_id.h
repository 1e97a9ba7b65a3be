// Numbering of the blocks of one group, stable over the object's life, also
// where its m changes: it is part of every block's key
// (docs/reference/format.md).
//
//   [0, l)   data blocks D_0 .. D_{l-1}
//   then for each parity index p = 0 .. m-1
//     for each width K, ascending
//       l/K  parity of that width, by stripe
//
// So narrow parity comes first and wide parity last. Schemes that are not
// elastic have one width.
#ifndef ERS_LAYOUT_BLOCK_ID_H_
#define ERS_LAYOUT_BLOCK_ID_H_

#include <cstdint>

namespace ers::layout {

using BlockId = std::uint32_t;

}  // namespace ers::layout

#endif  // ERS_LAYOUT_BLOCK_ID_H_
