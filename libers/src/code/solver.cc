#include "code/solver.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "code/field.h"

namespace ers::code {
namespace {

// A half-open interval that holds every non-zero place of a vector. Most known
// vectors are units or live in one stripe: ranges keep row operations short.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  void Cover(const Range& other) {
    if (other.begin == other.end) return;
    if (begin == end) {
      *this = other;
    } else {
      begin = std::min(begin, other.begin);
      end = std::max(end, other.end);
    }
  }
};

Range SupportOf(const Vector& vector) {
  Range range{0, vector.size()};
  while (range.begin < range.end && vector[range.begin] == 0) ++range.begin;
  while (range.end > range.begin && vector[range.end - 1] == 0) --range.end;
  return range;
}

// `vector` together with the combination of known vectors that makes it.
struct Row {
  Vector vector;
  Range support;
  Vector combination;
  Range used;
};

void AddMultiple(std::uint8_t factor, const Row& from, Row& to) {
  AddProduct(factor, from.vector.data() + from.support.begin,
             to.vector.data() + from.support.begin,
             from.support.end - from.support.begin);
  to.support.Cover(from.support);
  AddProduct(factor, from.combination.data() + from.used.begin,
             to.combination.data() + from.used.begin,
             from.used.end - from.used.begin);
  to.used.Cover(from.used);
}

void Scale(std::uint8_t factor, Row& row) {
  for (auto i = row.support.begin; i < row.support.end; ++i) {
    row.vector[i] = Product(factor, row.vector[i]);
  }
  for (auto i = row.used.begin; i < row.used.end; ++i) {
    row.combination[i] = Product(factor, row.combination[i]);
  }
}

// Rows in echelon form, grown one known vector after the other, so that a
// vector which earlier ones already span never gets a part.
class Echelon {
 public:
  Echelon(std::size_t length, std::size_t known_count)
      : row_at_(length, kNone), known_count_(known_count) {}

  // What is left of the row after all pivots; its first non-zero place, or
  // the length if nothing is left.
  std::size_t Reduce(Row& row) const {
    std::size_t first = row_at_.size();
    // The end moves: a pivot's row may reach further than this one did.
    for (auto i = row.support.begin; i < row.support.end; ++i) {
      const std::uint8_t value = row.vector[i];
      if (value == 0) continue;
      if (row_at_[i] == kNone) {
        first = std::min(first, i);
      } else {
        AddMultiple(value, rows_[row_at_[i]], row);
      }
    }
    return first;
  }

  void Add(const Vector& vector, std::size_t index) {
    Row row{
        vector, SupportOf(vector), Vector(known_count_, 0), {index, index + 1}};
    row.combination[index] = 1;
    const std::size_t pivot = Reduce(row);
    if (pivot == row_at_.size()) return;
    Scale(Inverse(row.vector[pivot]), row);
    row.support.begin = pivot;
    row_at_[pivot] = rows_.size();
    rows_.push_back(std::move(row));
  }

  std::optional<Vector> Express(const Vector& vector) const {
    Row row{vector, SupportOf(vector), Vector(known_count_, 0), {0, 0}};
    if (Reduce(row) != row_at_.size()) return std::nullopt;
    return std::move(row.combination);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> row_at_;  // by pivot place
  std::size_t known_count_;
  std::vector<Row> rows_;
};

}  // namespace

std::optional<std::vector<Vector>> Solve(std::span<const Vector> known,
                                         std::span<const Vector> wanted) {
  std::vector<Vector> combinations;
  if (wanted.empty()) return combinations;
  const std::size_t length = wanted.front().size();
  Echelon echelon(length, known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    assert(known[i].size() == length);
    echelon.Add(known[i], i);
  }
  combinations.reserve(wanted.size());
  for (const Vector& vector : wanted) {
    assert(vector.size() == length);
    auto combination = echelon.Express(vector);
    if (!combination) return std::nullopt;
    combinations.push_back(*std::move(combination));
  }
  return combinations;
}

}  // namespace ers::code
