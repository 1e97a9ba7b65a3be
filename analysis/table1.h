// Table 1 of the paper and the single figures of its text, recomputed.
#ifndef ERS_ANALYSIS_TABLE1_H_
#define ERS_ANALYSIS_TABLE1_H_

#include <span>
#include <string>
#include <vector>

#include "analysis/counts.h"

namespace ers::analysis {

// One printed quantity.
struct Cell {
  std::string comparison;  // "ERS-1 over SRS"
  Direction direction = Direction::kForward;
  // "improved sets", "average %", "best %", "best set", or "at K,M,KP %" for a
  // single figure of the text.
  std::string quantity;
  std::string paper;     // as printed there
  std::string computed;  // paper's plans, over the srs-paper rule
  std::string optimal;   // optimal plans, over the fair SRS plan
  [[nodiscard]] bool differs() const { return paper != computed; }
};

// From the rows of all SweepSets (asserted).
std::vector<Cell> Table1(std::span<const Row> sweep);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_TABLE1_H_
