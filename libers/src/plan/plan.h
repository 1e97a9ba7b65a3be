// A plan is data: which blocks of one group to read, which GF(2^8)
// combinations of them to compute, which blocks to write and which to drop.
// Planners (one per file in this folder) are pure functions that make plans;
// store/ runs them, analysis/ counts them, and tests prove them by algebra.
#ifndef ERS_PLAN_PLAN_H_
#define ERS_PLAN_PLAN_H_

#include <cstdint>
#include <vector>

#include "layout/block_id.h"

namespace ers::plan {

// One matrix product: outputs[r] = sum over c of
// coefficients[r * inputs.size() + c] * inputs[c], byte by byte in GF(2^8).
// A step can run as soon as its inputs are there, whatever the others do.
struct Step {
  // Positions in the concatenation of Plan::reads and Plan::given.
  std::vector<std::uint32_t> inputs;
  // Blocks this step computes. A data block here is the *stored (old)* content
  // of a missing block, recovered; a parity block is the new content.
  std::vector<layout::BlockId> outputs;
  std::vector<std::uint8_t> coefficients;  // outputs x inputs, row-major
  // Of columns: the first cell of each input and of each output that is meant,
  // and how many there are from there on. Several steps make one column.
  std::vector<std::uint16_t> input_cells;
  std::vector<std::uint16_t> output_cells;
  int cells = 1;

  [[nodiscard]] int InputCell(std::size_t input) const {
    return input_cells.empty() ? 0 : input_cells[input];
  }
  [[nodiscard]] int OutputCell(std::size_t output) const {
    return output_cells.empty() ? 0 : output_cells[output];
  }
};

// Everything is within one group; block ids as in layout/block_id.h. Of a group
// in columns every block is a column.
struct Plan {
  // Stored blocks to fetch, each once, in the order in which steps need them.
  std::vector<layout::BlockId> reads;
  // Data blocks whose (new) content the caller supplies: all of them for PUT,
  // the touched ones for UPDATE, none for the others.
  std::vector<layout::BlockId> given;
  std::vector<Step> steps;
  // Blocks to stage: given ones and step outputs. A block on a missing node is
  // left out here although its content changes: see `unwritten`.
  std::vector<layout::BlockId> writes;
  // Blocks that belong to the new state but sit on a missing node.
  std::vector<layout::BlockId> unwritten;
  // Blocks of the old state that the new state no longer has.
  std::vector<layout::BlockId> drops;
};

// How many of plan.reads are data and parity blocks.
struct ReadCount {
  int data = 0;
  int parity = 0;
  [[nodiscard]] int total() const { return data + parity; }
};

}  // namespace ers::plan

#endif  // ERS_PLAN_PLAN_H_
