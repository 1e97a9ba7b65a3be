// What transitions between the widths of a chain move, taken from the plans
// that production runs.
#ifndef ERS_ANALYSIS_CHAIN_COUNTS_H_
#define ERS_ANALYSIS_CHAIN_COUNTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "analysis/output.h"
#include "ers/scheme.h"

namespace ers::analysis {

// One transition of one group.
struct ChainRow {
  Scheme scheme;
  Width from = Width::kNarrow;
  Width to = Width::kWide;
  int reads = 0;
  int writes = 0;
  int lower_bound = 0;  // on reads
};

// Every pair of widths of ers:`widths`,`m`, where `widths` is as "4-6-12".
// kInvalidArgument: no scheme. kCorruption: a plan and a formula disagree.
Result<std::vector<ChainRow>> CountChain(std::string_view widths, int m);

// Compares a row with the formulas: OK, or kCorruption.
Status CheckChainRow(const ChainRow& row);

// Columns: chain,m,from,to,reads,writes,lower_bound. JSON: an array of objects
// with these keys.
std::string RenderChain(const std::vector<ChainRow>& rows, Format format);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_CHAIN_COUNTS_H_
