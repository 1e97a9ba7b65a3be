// What the counts must come to, computed without any planner.
#ifndef ERS_ANALYSIS_FORMULAS_H_
#define ERS_ANALYSIS_FORMULAS_H_

#include <optional>

#include "analysis/counts.h"

namespace ers::analysis {

// The least blocks that any MDS code whose data blocks stay in place reads.
int LowerBound(const Parameters& parameters, Direction direction);

// The same for one group of an elastic scheme, from one form to another of
// another width: that of the two widths alone, as often as their group fits.
int LowerBound(const Scheme& scheme, const plan::FormChange& change);

// New parity blocks; no plan writes fewer.
int ExpectedWrites(const Parameters& parameters, Direction direction);

// The rule for stretched Reed-Solomon that reproduces the paper's table 1:
// all l data blocks, but where k divides k' and m <= 2 the old parity alone
// forward, and l - k data blocks and m parity blocks backward.
plan::ReadCount SrsPaperReads(const Parameters& parameters,
                              Direction direction);

// Reads of ERS-2 by the paper's closed formulas (section 6.1, with m*l/k'
// backward, where it prints m*l/k), and by ours for the optimal variant.
// nullopt where no closed formula is known (backward without order selection).
std::optional<int> Ers2Reads(const Parameters& parameters, Direction direction,
                             plan::TransitionVariant variant);

// Reads of ERS-1 and ERS-2 from the overlaps between stripes and rows alone,
// for every direction and variant. `subject` is kErs1 or kErs2 (asserted).
int ReadsFromOverlaps(const Parameters& parameters, Subject subject,
                      Direction direction, plan::TransitionVariant variant);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_FORMULAS_H_
