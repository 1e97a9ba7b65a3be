// Where the data blocks of a group live: one function and file per placement.
// Pure; `scheme` must satisfy ValidateScheme.
#ifndef ERS_LAYOUT_PLACEMENT_H_
#define ERS_LAYOUT_PLACEMENT_H_

#include <vector>

#include "ers/scheme.h"

namespace ers::layout {

// The place of one data block in the grid of l/k' rows and k' columns.
struct Cell {
  int row;     // its wide stripe
  int column;  // its node
  int stripe;  // its narrow stripe
  int rank;    // its place among the k blocks of the narrow stripe
};

// By data block 0 .. l-1.
using Placement = std::vector<Cell>;

// ERS-1 and chains, and RS and replication, whose grid is one row: block after
// block, row after row (section 3.2 of the ERS paper, figure 3). A stripe of
// any width is neighbours, so no two of its blocks share a node.
Placement PlaceRowMajor(const Scheme& scheme);
// ERS-2: as many narrow stripes as can be lie within one row (section 3.3,
// algorithm 3, figure 4).
Placement PlaceErsAware(const Scheme& scheme);
// SRS: node after node (section 2.2, figure 1).
Placement PlaceColumnMajor(const Scheme& scheme);

}  // namespace ers::layout

#endif  // ERS_LAYOUT_PLACEMENT_H_
