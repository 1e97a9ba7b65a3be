// Blocks that adding and dropping parity moves, taken from the plans that
// production runs, beside those of writing the object anew.
#ifndef ERS_ANALYSIS_PARITY_COUNTS_H_
#define ERS_ANALYSIS_PARITY_COUNTS_H_

#include <string>
#include <vector>

#include "analysis/counts.h"
#include "analysis/output.h"

namespace ers::analysis {

// One group that goes from m of `parameters` to `to` parity blocks a stripe.
struct ParityRow {
  Parameters parameters;
  int to = 0;
  Subject subject = Subject::kErs2;
  Width width = Width::kNarrow;
  int reads = 0;
  int writes = 0;
  int drops = 0;
  int reencode_reads = 0;
  int reencode_writes = 0;
};

// SRS, ERS-1 and ERS-2, narrow and wide. kInvalidArgument: no scheme, or
// nothing to do. kCorruption: a plan and a formula disagree.
Result<std::vector<ParityRow>> CountParity(const Parameters& parameters,
                                           int to);

// Columns: k,m,kp,to,scheme,width,reads,writes,drops,reencode_reads,
// reencode_writes. JSON: an array of objects with these keys.
std::string RenderParity(const std::vector<ParityRow>& rows, Format format);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_PARITY_COUNTS_H_
