// The three output formats. Every text ends with a newline.
#ifndef ERS_ANALYSIS_RENDER_H_
#define ERS_ANALYSIS_RENDER_H_

#include <span>
#include <string>

#include "analysis/counts.h"
#include "analysis/output.h"
#include "analysis/table1.h"

namespace ers::analysis {

// Columns: k,m,kp,scheme,direction,variant,data_reads,parity_reads,reads,
// writes,lower_bound. JSON: an array of objects with these keys.
std::string RenderRows(std::span<const Row> rows, Format format);

// Columns: comparison,direction,quantity,paper,computed,differs,optimal. JSON:
// an array of objects with these keys, `differs` a boolean, the rest text.
std::string RenderTable1(std::span<const Cell> cells, Format format);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_RENDER_H_
