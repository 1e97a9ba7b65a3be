// How much a change of width moves, by the plan that such a change takes.
#ifndef ERS_TRANSITION_COUNTS_H_
#define ERS_TRANSITION_COUNTS_H_

#include "ers/export.h"
#include "ers/scheme.h"
#include "ers/status.h"

namespace ers {

// Of one group, of which GroupDataBlocks are data, with no block missing. In
// columns these are the blocks that the columns have.
struct TransitionCounts {
  int reads = 0;
  int writes = 0;
};

// kInvalidArgument: the scheme is none that is stored, or not elastic, or has
// no such widths, or they are the same. Any thread.
ERS_API Result<TransitionCounts> CountTransition(const Scheme& scheme,
                                                 Width from, Width to,
                                                 Unit unit);

}  // namespace ers

#endif  // ERS_TRANSITION_COUNTS_H_
