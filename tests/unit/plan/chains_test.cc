// Chains of widths: what their transitions read, and that their plans are
// right, for all chains of two to four widths up to 14 whose groups have up to
// 240 blocks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plan/planners.h"
#include "unit/plan/proving.h"

namespace ers::plan {
namespace {

constexpr int kMaxWidth = 14;
constexpr int kMaxBlocks = 240;

Scheme ChainOf(const std::vector<int>& widths, int m) {
  std::string text = "ers";
  char before = ':';
  for (const int width : widths) {
    text += before + std::to_string(width);
    before = '-';
  }
  return ParseScheme(text + ',' + std::to_string(m)).value();
}

// By their widths.
std::vector<std::vector<int>> AllChains() {
  std::vector<std::vector<int>> all;
  for (unsigned set = 0; set < 1U << kMaxWidth; ++set) {
    std::vector<int> widths;
    int blocks = 1;
    for (int width = 2; width <= kMaxWidth; ++width) {
      if ((set >> (width - 1) & 1U) == 0) continue;
      widths.push_back(width);
      blocks = std::lcm(blocks, width);
    }
    const bool counts = (set & 1U) == 0 && widths.size() >= 2 &&
                        widths.size() <= 4 && blocks <= kMaxBlocks;
    if (counts) all.push_back(widths);
  }
  return all;
}

// From one width to another.
using Counts = std::map<std::pair<int, int>, int>;

Counts ReadsOf(const std::vector<int>& widths, int m) {
  const Geometry geometry(ChainOf(widths, m));
  const std::vector<Width> all = WidthsOf(geometry.scheme());
  REQUIRE(all.size() == widths.size());
  Counts reads;
  for (const Width from : all) {
    for (const Width to : all) {
      if (from == to) continue;
      const auto plan =
          PlanTransition(geometry, {from, to}, TransitionVariant::kOptimal, {});
      REQUIRE(plan.has_value());
      const int stripes = geometry.stripe_count(to);
      REQUIRE(static_cast<int>(plan->writes.size()) == m * stripes);
      reads[{geometry.stripe_width(from), geometry.stripe_width(to)}] =
          CountReads(geometry, *plan).total();
    }
  }
  return reads;
}

// Least reads of any MDS code whose data stays in place: that of the two widths
// alone, as often as their group fits.
int LowerBound(int from, int to, int m, int group) {
  const int l = std::lcm(from, to);
  const int k = std::min(from, to);
  const int kp = std::max(from, to);
  if (m >= k) return group;
  const int a = l / k;
  const int b = l / kp;
  const int once = from < to ? a * m + a % b * (k - std::max(kp % k, m))
                             : b * m + b * (kp - k);
  return once * (group / l);
}

// Of each old stripe the lesser of all its data, and of all but its longest
// piece within one new stripe, and its parity.
int PieceByPiece(int from, int to, int m, int group) {
  int reads = 0;
  for (int first = 0; first < group; first += from) {
    int longest = 0;
    for (int at = first; at < first + from;) {
      const int end = std::min((at / to + 1) * to, first + from);
      longest = std::max(longest, end - at);
      at = end;
    }
    reads += std::min(from, from - longest + m);
  }
  return reads;
}

int GroupBlocks(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 1, std::lcm<int, int>);
}

// The pairs of a chain that read more than the bound.
Counts Misses(const std::vector<int>& widths, int m) {
  Counts misses;
  for (const auto& [pair, reads] : ReadsOf(widths, m)) {
    const int bound =
        LowerBound(pair.first, pair.second, m, GroupBlocks(widths));
    REQUIRE(reads >= bound);
    if (reads > bound) misses[pair] = reads - bound;
  }
  return misses;
}

TEST_CASE("4-8-16 and 4-6-12 read what was counted by another program") {
  CHECK(ReadsOf({4, 8, 16}, 1) == Counts{{{4, 8}, 4},
                                         {{4, 16}, 4},
                                         {{8, 4}, 10},
                                         {{8, 16}, 2},
                                         {{16, 4}, 13},
                                         {{16, 8}, 9}});
  const std::vector<std::vector<int>> counted = {
      {5, 3, 6, 2, 9, 7}, {8, 6, 8, 4, 10, 8}, {10, 9, 10, 6, 11, 9}};
  for (int m = 1; m <= 3; ++m) {
    std::vector<int> reads;
    for (const auto& [pair, count] : ReadsOf({4, 6, 12}, m)) {
      reads.push_back(count);
    }
    CAPTURE(m);
    CHECK(reads == counted[static_cast<std::size_t>(m - 1)]);
  }
}

TEST_CASE("where each width divides the next, every pair is at the bound") {
  int chains = 0;
  for (const auto& widths : AllChains()) {
    const bool divide =
        std::adjacent_find(widths.begin(), widths.end(), [](int a, int b) {
          return b % a != 0;
        }) == widths.end();
    if (!divide) continue;
    ++chains;
    for (int m = 1; m <= 3; ++m) {
      CAPTURE(widths, m);
      CHECK(Misses(widths, m).empty());
    }
  }
  CHECK(chains > 10);
  for (int m = 1; m <= 3; ++m) {
    CAPTURE(m);
    CHECK(Misses({4, 8, 16}, m).empty());
    CHECK(Misses({4, 6, 12}, m).empty());
  }
}

TEST_CASE("4-6-8-12 misses the bound in one pair, for m = 3 in two") {
  CHECK(Misses({4, 6, 8, 12}, 1) == Counts{{{8, 6}, 2}});
  CHECK(ReadsOf({4, 6, 8, 12}, 1).at({8, 6}) == 11);
  CHECK(Misses({4, 6, 8, 12}, 2) == Counts{{{8, 6}, 2}});
  CHECK(ReadsOf({4, 6, 8, 12}, 2).at({8, 6}) == 14);
  CHECK(Misses({4, 6, 8, 12}, 3).size() == 2);
}

TEST_CASE("every pair of every chain reads piece by piece, and no more") {
  for (const auto& widths : AllChains()) {
    for (int m = 1; m <= 3; ++m) {
      CAPTURE(widths, m);
      for (const auto& [pair, reads] : ReadsOf(widths, m)) {
        const auto& [from, to] = pair;
        const int group = GroupBlocks(widths);
        REQUIRE(reads == PieceByPiece(from, to, m, group));
        REQUIRE(reads >= LowerBound(from, to, m, group));
      }
    }
  }
}

naive::Parameters ParametersOf(const std::vector<int>& widths, int m) {
  return {"ers",
          widths.front(),
          m,
          widths.back(),
          {widths.begin() + 1, widths.end() - 1}};
}

TEST_CASE("plans of sampled chains are right, with sampled nodes dead") {
  const unsigned seed = 441;
  CAPTURE(seed);
  std::mt19937 random(seed);
  auto chains = AllChains();
  std::shuffle(chains.begin(), chains.end(), random);
  chains.resize(kSampledChains);
  for (const auto& widths : chains) {
    for (int m = 1; m <= 3; ++m) {
      ProveAll(ParametersOf(widths, m), false, 2, random);
    }
  }
}

// Hidden, as it takes long: tests/run --full asks for it by its tag.
TEST_CASE("plans of every chain are right", "[.full]") {
  const unsigned seed = 442;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& widths : AllChains()) {
    for (int m = 1; m <= 3; ++m) {
      ProveAll(ParametersOf(widths, m), false, 10, random);
      ProveScattered(ParametersOf(widths, m), 5, random);
    }
  }
}

}  // namespace
}  // namespace ers::plan
