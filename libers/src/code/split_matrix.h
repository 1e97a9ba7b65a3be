// Takes apart what a kernel multiplies: the parts that are plain XOR, and the
// rest. Shared by the kernels.
#ifndef ERS_CODE_SPLIT_MATRIX_H_
#define ERS_CODE_SPLIT_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ers::code {

// output r = sum of the inputs in xors[r] + sum over d of
// coefficients[r' * columns.size() + d] * inputs[columns[d]], where r' is r's
// place in `rows`; outputs not in `rows` have no second part.
struct SplitMatrix {
  std::vector<std::vector<const std::uint8_t*>> xors;  // by output
  std::vector<std::size_t> rows;
  std::vector<std::size_t> columns;
  std::vector<std::uint8_t> coefficients;
};

// `coefficients` is output_count x inputs.size(), row-major. A row of ones and
// zeros is wholly XOR; elsewhere a column with one single non-zero cell, 1, is.
// Columns of zeros vanish. `batch` (>= 2) is how many rows the caller computes
// in one go: a row of ones that fills up the last batch stays a row, because
// there it costs less than a XOR of its own.
SplitMatrix Split(std::span<const std::uint8_t> coefficients,
                  std::span<const std::uint8_t* const> inputs,
                  std::size_t output_count, std::size_t batch);

}  // namespace ers::code

#endif  // ERS_CODE_SPLIT_MATRIX_H_
