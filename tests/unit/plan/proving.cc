#include "unit/plan/proving.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "unit/plan/plan_checker.h"

namespace ers::plan {
namespace {

// Calls `check` for every set of up to `size` of `nodes` nodes.
void ForEachPattern(int nodes, int size,
                    const std::function<void(const Missing&)>& check) {
  Missing missing;
  const std::function<void(int)> extend = [&](int from) {
    check(missing);
    if (static_cast<int>(missing.dead_nodes.size()) == size) return;
    for (int node = from; node < nodes; ++node) {
      missing.dead_nodes.push_back(node);
      extend(node + 1);
      missing.dead_nodes.pop_back();
    }
  };
  extend(0);
}

Missing RandomPattern(int nodes, int size, std::mt19937& random) {
  std::vector<int> order(nodes);
  for (int i = 0; i < nodes; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  order.resize(1 + random() % size);
  return {{}, order};
}

}  // namespace

void ProveAll(const naive::Parameters& parameters, bool exhaustive, int samples,
              std::mt19937& random) {
  CAPTURE(FormatScheme(SchemeOf(parameters)));
  PlanChecker checker(parameters, random);
  REQUIRE(checker.CheckLayout().empty());
  const auto prove = [&](const Missing& missing) {
    const std::string error = checker.CheckAll(missing);
    if (error.empty()) return;
    CAPTURE(missing.dead_nodes);
    FAIL(error);
  };
  const int nodes = checker.model().nodes();
  if (exhaustive) {
    ForEachPattern(nodes, parameters.m, prove);
  } else {
    prove({});
    for (int i = 0; i < samples; ++i) {
      prove(RandomPattern(nodes, parameters.m, random));
    }
  }
}

void ProveScattered(const naive::Parameters& parameters, int samples,
                    std::mt19937& random) {
  CAPTURE(FormatScheme(SchemeOf(parameters)));
  PlanChecker checker(parameters, random);
  std::vector<BlockId> all(checker.model().l());
  for (std::size_t d = 0; d < all.size(); ++d) all[d] = d;
  for (int i = 0; i < samples; ++i) {
    for (const Width width : checker.widths()) {
      const Missing missing = checker.RandomMissing(width);
      CAPTURE(missing.blocks, static_cast<int>(width));
      const auto touched = checker.RandomData();
      const std::vector<BlockId> keep{touched.front()};
      REQUIRE(checker.CheckGet(width, all, missing).empty());
      REQUIRE(checker.CheckUpdate(width, touched, keep, missing).empty());
      REQUIRE(checker.CheckUpdate(width, touched, {}, missing).empty());
      REQUIRE(checker.CheckRebuild(width, missing.blocks, {}).empty());
      REQUIRE(checker.CheckTransitions(width, missing).empty());
    }
  }
}

}  // namespace ers::plan
