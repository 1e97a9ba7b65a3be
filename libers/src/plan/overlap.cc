#include "plan/overlap.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "code/field.h"
#include "code/solver.h"

namespace ers::plan {
namespace {

constexpr double kMaxBases = 20000;

// A block's coefficients in the live parities, before and after.
struct CoefficientColumns {
  code::Vector before;
  code::Vector after;
};

std::vector<CoefficientColumns> ColumnsOf(const Geometry& geometry,
                                          WidthChange change,
                                          std::span<const int> parities,
                                          const Overlap& shared) {
  std::vector<CoefficientColumns> columns(shared.blocks.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (const int p : parities) {
      const BlockId id = shared.blocks[i];
      columns[i].before.push_back(geometry.Coefficient(id, change.from, p));
      columns[i].after.push_back(geometry.Coefficient(id, change.to, p));
    }
  }
  return columns;
}

// The places whose columns are carried over by the one linear map that carries
// over the places of `basis`.
std::vector<std::size_t> CarriedOver(
    const std::vector<CoefficientColumns>& columns,
    std::span<const std::size_t> basis) {
  std::vector<code::Vector> before;
  std::vector<code::Vector> all_before;
  before.reserve(basis.size());
  all_before.reserve(columns.size());
  for (const std::size_t i : basis) before.push_back(columns[i].before);
  for (const CoefficientColumns& column : columns)
    all_before.push_back(column.before);
  const auto combinations = code::Solve(before, all_before);
  std::vector<std::size_t> carried;
  if (!combinations) return carried;  // no basis: cannot happen in MDS codes
  for (std::size_t i = 0; i < columns.size(); ++i) {
    code::Vector image(columns[i].after.size(), 0);
    for (std::size_t b = 0; b < basis.size(); ++b) {
      code::AddProduct((*combinations)[i][b], columns[basis[b]].after.data(),
                       image.data(), image.size());
    }
    if (image == columns[i].after) carried.push_back(i);
  }
  return carried;
}

double CountSubsets(std::size_t of, std::size_t size) {
  double count = 1;
  for (std::size_t i = 0; i < size; ++i) {
    count *= static_cast<double>(of - i) / static_cast<double>(i + 1);
  }
  return count;
}

// Moves to the next subset in lexicographic order; false after the last.
bool NextSubset(std::vector<std::size_t>& subset, std::size_t of) {
  std::size_t i = subset.size();
  while (i > 0 && subset[i - 1] == of - subset.size() + i - 1) --i;
  if (i == 0) return false;
  ++subset[i - 1];
  std::iota(subset.begin() + static_cast<std::ptrdiff_t>(i), subset.end(),
            subset[i - 1] + 1);
  return true;
}

bool NextRun(std::vector<std::size_t>& subset, std::size_t of) {
  if (subset.back() + 1 == of) return false;
  for (std::size_t& i : subset) ++i;
  return true;
}

}  // namespace

std::vector<Overlap> SharedBlocks(const Geometry& geometry, WidthChange change,
                                  int source) {
  std::map<int, std::vector<BlockId>> by_target;
  for (const BlockId id : geometry.StripeData(change.from, source)) {
    by_target[geometry.StripeOf(id, change.to)].push_back(id);
  }
  std::vector<Overlap> shared;
  shared.reserve(by_target.size());
  for (auto& [target, blocks] : by_target) {
    shared.push_back({target, std::move(blocks)});
  }
  return shared;
}

Overlap LargestOverlap(const Geometry& geometry, WidthChange change,
                       std::span<const int> parities, const Overlap& shared) {
  const auto columns = ColumnsOf(geometry, change, parities, shared);
  const bool same = std::all_of(
      columns.begin(), columns.end(),
      [](const CoefficientColumns& c) { return c.before == c.after; });
  // Any blocks are carried over by as many parities; nothing is gained then.
  if (same || columns.size() <= parities.size()) return shared;

  std::vector<std::size_t> basis(parities.size());
  std::iota(basis.begin(), basis.end(), 0);
  const bool all = CountSubsets(columns.size(), basis.size()) <= kMaxBases;
  std::vector<std::size_t> best;
  do {
    auto carried = CarriedOver(columns, basis);
    if (carried.size() > best.size()) best = std::move(carried);
  } while (best.size() < columns.size() &&
           (all ? NextSubset(basis, columns.size())
                : NextRun(basis, columns.size())));

  Overlap overlap{shared.target, {}};
  for (const std::size_t i : best) overlap.blocks.push_back(shared.blocks[i]);
  return overlap;
}

}  // namespace ers::plan
