#include "code/matrix.h"

#include <cassert>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "code/jerasure_guard.h"

extern "C" {
#include <reed_sol.h>
}

namespace ers::code {
namespace {

// More distinct (k, m) than one process uses, and yet an end.
constexpr std::size_t kMaxCached = 512;

std::shared_ptr<const Matrix> MakeMatrix(int k, int m, int w) {
  const std::lock_guard lock(JerasureMutex());
  int* cells = reed_sol_vandermonde_coding_matrix(k, m, w);
  assert(cells != nullptr);
  auto matrix = std::make_shared<Matrix>();
  matrix->rows = m;
  matrix->columns = k;
  matrix->cells.assign(cells, cells + static_cast<std::size_t>(m) * k);
  std::free(cells);
  return matrix;
}

}  // namespace

std::shared_ptr<const Matrix> VandermondeMatrix(int k, int m, int w) {
  assert(k >= 1 && m >= 1);
  assert(w != 8 || k + m <= 255);
  if (w != 8) return MakeMatrix(k, m, w);

  static std::mutex mutex;
  static std::map<std::pair<int, int>, std::shared_ptr<const Matrix>> cache;
  {
    const std::lock_guard lock(mutex);
    const auto found = cache.find({k, m});
    if (found != cache.end()) return found->second;
  }
  auto matrix = MakeMatrix(k, m, w);
  const std::lock_guard lock(mutex);
  if (cache.size() >= kMaxCached) cache.clear();
  return cache.try_emplace({k, m}, std::move(matrix)).first->second;
}

}  // namespace ers::code
