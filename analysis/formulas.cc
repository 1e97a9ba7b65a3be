#include "analysis/formulas.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <vector>

#include "layout/geometry.h"

namespace ers::analysis {
namespace {

using plan::TransitionVariant;

struct Group {
  int l;
  int stripes;  // l / k
  int rows;     // l / k'
  int r;        // k' mod k
};

Group GroupOf(const Parameters& p) {
  const int l = std::lcm(p.k, p.kp);
  return {l, l / p.k, l / p.kp, p.kp % p.k};
}

// Overlap of every narrow stripe with the row that it is credited to, listed
// by row.
std::vector<std::vector<int>> CreditedOverlaps(
    const layout::Geometry& geometry) {
  std::vector<std::vector<int>> credited(
      static_cast<std::size_t>(geometry.rows()));
  for (int stripe = 0; stripe < geometry.stripe_count(Width::kNarrow);
       ++stripe) {
    std::vector<int> in_row(credited.size());
    for (layout::BlockId id : geometry.StripeData(Width::kNarrow, stripe)) {
      ++in_row[static_cast<std::size_t>(geometry.StripeOf(id, Width::kWide))];
    }
    // max_element takes the first of equals: the lowest row on a tie.
    const auto most = std::max_element(in_row.begin(), in_row.end());
    credited[static_cast<std::size_t>(most - in_row.begin())].push_back(*most);
  }
  return credited;
}

// A stripe's old parity saves the blocks it overlaps with; whole data can be
// the cheaper way to the same end.
int ForwardReads(const std::vector<std::vector<int>>& credited, int k, int m,
                 TransitionVariant variant) {
  int reads = 0;
  for (const std::vector<int>& row : credited) {
    for (int overlap : row) {
      const int by_parity = m + k - overlap;
      reads += variant == TransitionVariant::kOptimal ? std::min(by_parity, k)
                                                      : by_parity;
    }
  }
  return reads;
}

// A row's old parity (m reads) saves the blocks that the kept stripe shares
// with the row.
int BackwardReads(const std::vector<std::vector<int>>& credited, int l, int m,
                  TransitionVariant variant) {
  int reads = l;
  for (const std::vector<int>& row : credited) {
    if (row.empty()) continue;
    const int kept = variant == TransitionVariant::kNoOrder
                         ? *std::min_element(row.begin(), row.end())
                         : *std::max_element(row.begin(), row.end());
    const int change = m - kept;
    reads +=
        variant == TransitionVariant::kOptimal ? std::min(change, 0) : change;
  }
  return reads;
}

}  // namespace

int LowerBound(const Parameters& p, Direction direction) {
  const Group g = GroupOf(p);
  if (p.m >= p.k) return g.l;  // parity never saves anything
  if (direction == Direction::kBackward) return g.rows * (p.m + p.kp - p.k);
  return g.stripes * p.m + (g.stripes % g.rows) * (p.k - std::max(g.r, p.m));
}

// What more parity than is stored needs is independent of all of it: all data.
// Less is had as if there had never been more.
int LowerBound(const Scheme& scheme, const plan::FormChange& change) {
  const int group = GroupDataBlocks(scheme);
  if (change.to.m > change.from.m) return group;
  const int from = StripeDataBlocks(scheme, change.from.width);
  const int to = StripeDataBlocks(scheme, change.to.width);
  const Parameters alone{std::min(from, to), change.to.m, std::max(from, to)};
  return LowerBound(alone,
                    from < to ? Direction::kForward : Direction::kBackward) *
         (group / std::lcm(from, to));
}

int ExpectedWrites(const Parameters& p, Direction direction) {
  const Group g = GroupOf(p);
  return p.m * (direction == Direction::kForward ? g.rows : g.stripes);
}

plan::ReadCount SrsPaperReads(const Parameters& p, Direction direction) {
  const Group g = GroupOf(p);
  if (g.r != 0 || p.m > 2) return {.data = g.l, .parity = 0};
  if (direction == Direction::kForward) {
    return {.data = 0, .parity = p.m * g.stripes};
  }
  return {.data = g.l - p.k, .parity = p.m};
}

std::optional<int> Ers2Reads(const Parameters& p, Direction direction,
                             TransitionVariant variant) {
  if (variant == TransitionVariant::kNoOrder) return std::nullopt;
  if (variant == TransitionVariant::kOptimal) return LowerBound(p, direction);
  const Group g = GroupOf(p);
  if (direction == Direction::kBackward) {
    return p.m * g.rows + g.l - g.rows * p.k;
  }
  const int cross_row = g.stripes - (p.kp / p.k) * g.rows;  // beta
  return p.m * g.stripes + cross_row * (p.k - g.r);
}

int ReadsFromOverlaps(const Parameters& p, Subject subject, Direction direction,
                      TransitionVariant variant) {
  assert(subject == Subject::kErs1 || subject == Subject::kErs2);
  const SchemeKind kind =
      subject == Subject::kErs1 ? SchemeKind::kErs1 : SchemeKind::kErs2;
  const layout::Geometry geometry(Scheme{kind, p.k, p.m, p.kp});
  const auto credited = CreditedOverlaps(geometry);
  return direction == Direction::kForward
             ? ForwardReads(credited, p.k, p.m, variant)
             : BackwardReads(credited, geometry.data_blocks(), p.m, variant);
}

}  // namespace ers::analysis
