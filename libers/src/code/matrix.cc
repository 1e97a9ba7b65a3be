#include "code/matrix.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "code/jerasure_guard.h"

extern "C" {
#include <reed_sol.h>
}

namespace ers::code {
namespace {

// More distinct (k, m) than one process uses, and yet an end.
constexpr std::size_t kMaxCached = 512;

// Jerasure eliminates columns by the first k rows of an extended Vandermonde
// matrix, scales columns so that row 0 of the rest is ones, then each row by
// its own first cell: a row of the rest depends on k and itself alone. The last
// one began as (0 .. 0 1), whatever m is; those between are the powers of their
// own number.
Matrix Nested(Matrix matrix) {
  if (matrix.rows < 3) return matrix;  // it is second, or the only one
  const auto row = [&matrix](int r) {
    return matrix.cells.begin() +
           static_cast<std::ptrdiff_t>(r) * matrix.columns;
  };
  std::rotate(row(1), row(matrix.rows - 1), row(matrix.rows));
  return matrix;
}

}  // namespace

Matrix VandermondeMatrix(int k, int m, int w) {
  assert(k >= 1 && m >= 1);
  assert(w != 8 || k + m <= 255);
  const MutexLock lock(JerasureMutex());
  int* cells = reed_sol_vandermonde_coding_matrix(k, m, w);
  assert(cells != nullptr);
  Matrix matrix{m, k, {cells, cells + static_cast<std::size_t>(m) * k}};
  std::free(cells);
  return matrix;
}

std::shared_ptr<const Matrix> CodingMatrix(int k, int m) {
  static Mutex mutex;
  static std::map<std::pair<int, int>, std::shared_ptr<const Matrix>> cache;
  {
    const MutexLock lock(mutex);
    const auto found = cache.find({k, m});
    if (found != cache.end()) return found->second;
  }
  auto matrix = std::make_shared<const Matrix>(Nested(VandermondeMatrix(k, m)));
  const MutexLock lock(mutex);
  if (cache.size() >= kMaxCached) cache.clear();
  return cache.try_emplace({k, m}, std::move(matrix)).first->second;
}

}  // namespace ers::code
