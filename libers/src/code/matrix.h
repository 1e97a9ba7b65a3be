// Encoding matrices over GF(2^w).
#ifndef ERS_CODE_MATRIX_H_
#define ERS_CODE_MATRIX_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace ers::code {

// rows x columns coefficients, row-major. Value type.
struct Matrix {
  int rows = 0;
  int columns = 0;
  std::vector<int> cells;
  int at(int row, int column) const {
    return cells[static_cast<std::size_t>(row) * columns + column];
  }
};

// Jerasure's reed_sol_vandermonde_coding_matrix(k, m, w): m x k, row 0 and
// column 0 all ones. k >= 1, m >= 1, k + m <= 2^w - 1 or so (asserted as
// k + m <= 255 for w = 8). Any thread.
Matrix VandermondeMatrix(int k, int m, int w = 8);

// The rows of VandermondeMatrix(k, m) over GF(2^8) in such an order that the
// first m rows are the same for every m: its last row, the one of the point at
// infinity, comes second. Parity can be added and dropped, therefore, and the
// rest stays. Results are cached; any thread.
std::shared_ptr<const Matrix> CodingMatrix(int k, int m);

}  // namespace ers::code

#endif  // ERS_CODE_MATRIX_H_
