#include "code/split_matrix.h"

#include <algorithm>

namespace ers::code {
namespace {

bool OnlyOnes(std::span<const std::uint8_t> row) {
  return std::all_of(row.begin(), row.end(),
                     [](std::uint8_t cell) { return cell <= 1; });
}

bool NoZero(std::span<const std::uint8_t> row) {
  return std::find(row.begin(), row.end(), 0) == row.end();
}

}  // namespace

SplitMatrix Split(std::span<const std::uint8_t> coefficients,
                  std::span<const std::uint8_t* const> inputs,
                  std::size_t output_count, std::size_t batch) {
  const std::size_t width = inputs.size();
  const auto row_of = [&](std::size_t r) {
    return coefficients.subspan(r * width, width);
  };
  SplitMatrix split;
  split.xors.resize(output_count);
  std::vector<std::size_t> plain_rows;
  for (std::size_t r = 0; r < output_count; ++r) {
    (OnlyOnes(row_of(r)) ? plain_rows : split.rows).push_back(r);
  }
  if (!plain_rows.empty() && (split.rows.size() + 1) % batch == 0 &&
      NoZero(row_of(plain_rows.front()))) {
    split.rows.insert(split.rows.begin(), plain_rows.front());
    plain_rows.erase(plain_rows.begin());
  }
  for (const std::size_t r : plain_rows) {
    const auto row = row_of(r);
    for (std::size_t c = 0; c < width; ++c) {
      if (row[c] == 1) split.xors[r].push_back(inputs[c]);
    }
  }
  for (std::size_t c = 0; c < width; ++c) {
    std::size_t cells = 0;
    std::size_t last_row = 0;
    for (const std::size_t r : split.rows) {
      if (coefficients[r * width + c] == 0) continue;
      ++cells;
      last_row = r;
    }
    if (cells == 1 && coefficients[last_row * width + c] == 1) {
      split.xors[last_row].push_back(inputs[c]);
    } else if (cells > 0) {
      split.columns.push_back(c);
    }
  }
  split.coefficients.reserve(split.rows.size() * split.columns.size());
  for (const std::size_t r : split.rows) {
    for (const std::size_t c : split.columns) {
      split.coefficients.push_back(coefficients[r * width + c]);
    }
  }
  return split;
}

}  // namespace ers::code
