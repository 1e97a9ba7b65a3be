// What transitions of groups in columns move, taken from the plans that
// production runs, beside the blocks that they move in blocks.
#ifndef ERS_ANALYSIS_COLUMN_COUNTS_H_
#define ERS_ANALYSIS_COLUMN_COUNTS_H_

#include <string>
#include <vector>

#include "analysis/counts.h"
#include "analysis/output.h"

namespace ers::analysis {

// One transition of one group. A cell is as long as a block would be.
struct ColumnRow {
  Parameters parameters;
  Subject subject = Subject::kErs2;
  Direction direction = Direction::kForward;
  int columns_read = 0;
  int cells_read = 0;
  int blocks_read = 0;  // of the same group in blocks
  int columns_written = 0;
  int cells_written = 0;
};

// SRS, ERS-1 and ERS-2, forward and backward. kInvalidArgument: no scheme.
Result<std::vector<ColumnRow>> CountColumns(const Parameters& parameters);

// Columns: k,m,kp,scheme,direction,columns_read,cells_read,blocks_read,
// columns_written,cells_written. JSON: an array of objects with these keys.
std::string RenderColumns(const std::vector<ColumnRow>& rows, Format format);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_COLUMN_COUNTS_H_
