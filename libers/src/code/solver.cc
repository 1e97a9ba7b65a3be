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

// A vector together with the combination of known vectors that makes it.
struct Row {
  std::uint8_t* vector;
  Range support;
  std::uint8_t* combination;
  Range used;
};

void AddMultiple(std::uint8_t factor, const Row& from, Row& to) {
  AddProduct(factor, from.vector + from.support.begin,
             to.vector + from.support.begin,
             from.support.end - from.support.begin);
  to.support.Cover(from.support);
  AddProduct(factor, from.combination + from.used.begin,
             to.combination + from.used.begin, from.used.end - from.used.begin);
  to.used.Cover(from.used);
}

void Scale(std::uint8_t factor, Row& row) {
  if (factor == 1) return;
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
      : length_(length),
        known_count_(known_count),
        row_at_(length, kNone),
        store_((std::min(length, known_count) + 1) * (length + known_count)) {
    rows_.reserve(std::min(length, known_count));
  }

  void Add(const Vector& vector, std::size_t index) {
    // No room is left once everything is spanned.
    if (rows_.size() == length_) return;
    Row row = Begin(vector);
    row.used = {index, index + 1};
    row.combination[index] = 1;
    const std::size_t pivot = Reduce(row);
    if (pivot == length_) return;
    Scale(Inverse(row.vector[pivot]), row);
    row.support.begin = pivot;
    row_at_[pivot] = rows_.size();
    rows_.push_back(row);
  }

  std::optional<Vector> Express(const Vector& vector) {
    Row row = Begin(vector);
    if (Reduce(row) != length_) return std::nullopt;
    return Vector(row.combination, row.combination + known_count_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // In the store behind the last row that was kept.
  Row Begin(const Vector& vector) {
    std::uint8_t* place =
        store_.data() + rows_.size() * (length_ + known_count_);
    std::copy(vector.begin(), vector.end(), place);
    std::fill_n(place + length_, known_count_, 0);
    return {place, SupportOf(vector), place + length_, {0, 0}};
  }

  // Takes all pivots out of `row`; the first non-zero place of what is left,
  // or the length if nothing is.
  std::size_t Reduce(Row& row) const {
    std::size_t first = length_;
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

  std::size_t length_;
  std::size_t known_count_;
  std::vector<std::size_t> row_at_;  // by pivot place
  std::vector<std::uint8_t> store_;  // vector and combination of each row
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
