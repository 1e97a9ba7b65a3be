// Plans of groups in columns: right in every pattern of what is missing, and
// with no column read that need not be.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "code/solver.h"
#include "plan/planners.h"
#include "sanitized.h"
#include "unit/plan/column_checker.h"
#include "unit/plan/form_changes.h"
#include "unit/plan/parameter_sets.h"

namespace ers::plan {
namespace {

const char* const kFamilies[] = {"srs", "ers1", "ers2"};

// Every choice of up to m columns of `checker` that are dead, or gone.
void ProveAll(const naive::Parameters& parameters, std::mt19937& random) {
  CAPTURE(parameters.family, parameters.k, parameters.m, parameters.kp);
  ColumnChecker checker(parameters, random);
  REQUIRE(checker.CheckLayout().empty());
  const Geometry& geometry = checker.geometry();
  Missing missing;
  const std::function<void(int)> extend = [&](int from) {
    const std::string error = checker.CheckAll(missing);
    if (!error.empty()) {
      CAPTURE(missing.dead_nodes, missing.blocks);
      FAIL(error);
    }
    if (static_cast<int>(missing.dead_nodes.size()) +
            static_cast<int>(missing.blocks.size()) >=
        parameters.m) {
      return;
    }
    for (int node = from; node < geometry.node_count(); ++node) {
      missing.dead_nodes.push_back(node);
      extend(node + 1);
      missing.dead_nodes.pop_back();
      if (random() % 2 == 0 || node >= geometry.data_blocks()) continue;
      missing.blocks.push_back(static_cast<BlockId>(node));
      extend(node + 1);
      missing.blocks.pop_back();
    }
  };
  extend(0);
}

TEST_CASE("plans in columns are right whatever is missing") {
  const unsigned seed = 431;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& set : {ParameterSet{2, 1, 3},
                          {2, 1, 4},
                          {2, 2, 5},
                          {3, 1, 4},
                          {3, 2, 4},
                          {4, 1, 5},
                          {4, 2, 6},
                          {4, 3, 5},
                          {4, 1, 8},
                          {4, 3, 8},
                          {5, 2, 7},
                          {3, 2, 9},
                          {6, 2, 8},
                          {3, 3, 7},
                          {2, 3, 5}}) {
    if (kSanitized && set.kp > 4) continue;
    for (const char* family : kFamilies) {
      ProveAll({family, set.k, set.m, set.kp}, random);
    }
  }
  ProveAll({"ers", 2, 1, 4}, random);
  ProveAll({"ers", 2, 2, 6, {3}}, random);
  ProveAll({"ers", 2, 1, 8, {4}}, random);
  ProveAll({"ers", 4, 1, 12, {6}}, random);
  ProveAll({"ers", 2, 2, 6, {3, 4}}, random);
}

// Do these columns give `wanted`?
bool Give(const Geometry& columns, const std::vector<BlockId>& reads,
          const std::vector<code::Vector>& wanted) {
  std::vector<code::Vector> known;
  for (const BlockId column : reads) {
    for (const BlockId cell : columns.CellsOf(column)) {
      known.push_back(columns.cells().Vector(cell));
    }
  }
  return code::Solve(known, wanted).has_value();
}

using Cost = std::pair<int, std::size_t>;  // cells, columns

Cost CostOf(const Geometry& columns, const std::vector<BlockId>& reads) {
  int cells = 0;
  for (const BlockId column : reads) cells += columns.cell_count(column);
  return {cells, reads.size()};
}

// Of all sets of stored columns that give `wanted`, by trying each.
Cost Least(const Geometry& columns, const Form& form,
           const std::vector<code::Vector>& wanted) {
  std::vector<BlockId> stored = columns.StoredBlocks(form.width);
  std::erase_if(stored, [&](BlockId id) {
    return columns.NodeOf(id) >= columns.scheme().kp + form.m;
  });
  std::optional<Cost> best;
  for (unsigned set = 0; set < 1U << stored.size(); ++set) {
    std::vector<BlockId> reads;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if ((set >> i & 1) != 0) reads.push_back(stored[i]);
    }
    const Cost cost = CostOf(columns, reads);
    if ((!best || cost < *best) && Give(columns, reads, wanted)) best = cost;
  }
  return best.value();
}

void CheckFewest(const Geometry& columns, const FormChange& change) {
  const auto& [from, to] = change;
  CAPTURE(FormatScheme(columns.scheme()), static_cast<int>(from.width), from.m,
          static_cast<int>(to.width), to.m);
  std::vector<code::Vector> wanted;
  for (int p = from.width == to.width ? from.m : 0; p < to.m; ++p) {
    for (const BlockId cell :
         columns.CellsOf(columns.ParityId(to.width, 0, p))) {
      wanted.push_back(columns.cells().Vector(cell));
    }
  }
  const auto plan =
      PlanTransition(columns, change, TransitionVariant::kOptimal, {});
  REQUIRE(plan);
  CHECK(CostOf(columns, plan->reads) == Least(columns, from, wanted));
}

void CheckFewest(const Geometry& columns) {
  for (const FormChange& change : AllChanges(columns)) {
    CheckFewest(columns, change);
  }
}

TEST_CASE("transitions in columns read the fewest bytes, then columns") {
  for (const auto& set : {ParameterSet{2, 1, 3},
                          {2, 1, 4},
                          {3, 1, 4},
                          {3, 2, 4},
                          {4, 1, 5},
                          {4, 1, 6},
                          {4, 2, 6},
                          {2, 1, 6},
                          {4, 1, 8},
                          {5, 1, 7},
                          {3, 1, 9},
                          {4, 3, 8},
                          {2, 2, 8},
                          {6, 1, 8}}) {
    for (const SchemeKind kind :
         {SchemeKind::kSrs, SchemeKind::kErs1, SchemeKind::kErs2}) {
      const Geometry columns({kind, set.k, set.m, set.kp}, Unit::kColumns);
      CheckFewest(columns);
    }
  }
  for (const char* text : {"ers:2-4,1", "ers:2-3-6,1", "ers:2-4-8,1",
                           "ers:2-4-6,2", "ers:2-3-4-6,1"}) {
    CheckFewest(Geometry(ParseScheme(text).value(), Unit::kColumns));
  }
}

TEST_CASE("updates in columns read the fewest bytes, then columns") {
  for (const auto& set : {ParameterSet{2, 1, 3},
                          {3, 1, 4},
                          {3, 2, 4},
                          {4, 1, 5},
                          {4, 1, 6},
                          {4, 2, 6},
                          {4, 1, 8}}) {
    for (const SchemeKind kind : {SchemeKind::kSrs, SchemeKind::kErs2}) {
      const Geometry columns({kind, set.k, set.m, set.kp}, Unit::kColumns);
      for (const Width width : {Width::kNarrow, Width::kWide}) {
        for (int count = 1; count <= set.kp; ++count) {
          std::vector<BlockId> touched;
          for (int c = 0; c < count; ++c) touched.push_back(c);
          CAPTURE(FormatScheme(columns.scheme()),
                  WidthName(columns.scheme(), width), count);
          // What parity has of the columns that stay as they are.
          std::vector<code::Vector> wanted;
          for (int p = 0; p < set.m; ++p) {
            const BlockId parity = columns.ParityId(width, 0, p);
            for (const BlockId cell : columns.CellsOf(parity)) {
              code::Vector& rest =
                  wanted.emplace_back(columns.cells().Vector(cell));
              for (BlockId d = 0; d < rest.size(); ++d) {
                const BlockId column = columns.ColumnOf(d).column;
                if (column < touched.size()) rest[d] = 0;
              }
            }
          }
          const auto plan = PlanUpdate(columns, width, touched, {}, {});
          REQUIRE(plan);
          CHECK(CostOf(columns, plan->reads) ==
                Least(columns, {width, set.m}, wanted));
        }
      }
    }
  }
}

TEST_CASE("steps of neighbouring cells with one sum are one") {
  const Geometry columns({SchemeKind::kErs2, 4, 1, 5}, Unit::kColumns);
  const Plan plan = PlanPut(columns, Width::kWide, {});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].cells == 4);
  CHECK(plan.given.size() == 5);
  CHECK(plan.writes.size() == 6);
}

}  // namespace
}  // namespace ers::plan
