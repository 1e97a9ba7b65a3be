// Proves plans on bytes, with no sockets: whatever is missing, they must give
// what an independent encoder gives.
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <vector>

#include "unit/plan/parameter_sets.h"
#include "unit/plan/plan_checker.h"

namespace ers::plan {
namespace {

// Sanitizers slow plans down; there the rest is sampled, and the other builds
// prove it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ERS_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ERS_TEST_SANITIZED 1
#endif
#endif
#ifdef ERS_TEST_SANITIZED
constexpr int kExhaustiveBlocks = 6;
constexpr int kSamples = 2;
#else
constexpr int kExhaustiveBlocks = 12;
constexpr int kSamples = 20;
#endif

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

// `samples`: how many patterns of a group too large for all of them.
void ProveAll(const naive::Parameters& parameters, bool exhaustive, int samples,
              std::mt19937& random) {
  CAPTURE(parameters.family, parameters.k, parameters.m, parameters.kp);
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

// Up to m blocks of each stripe are gone, whatever their nodes.
void ProveScattered(const naive::Parameters& parameters, int samples,
                    std::mt19937& random) {
  CAPTURE(parameters.family, parameters.k, parameters.m, parameters.kp);
  PlanChecker checker(parameters, random);
  std::vector<BlockId> all(checker.model().l());
  for (std::size_t d = 0; d < all.size(); ++d) all[d] = d;
  for (int i = 0; i < samples; ++i) {
    for (const Width width : {Width::kNarrow, Width::kWide}) {
      if (width == Width::kWide && !checker.elastic()) continue;
      const Missing missing = checker.RandomMissing(width);
      CAPTURE(missing.blocks, static_cast<int>(width));
      const auto touched = checker.RandomData();
      const std::vector<BlockId> keep{touched.front()};
      REQUIRE(checker.CheckGet(width, all, missing).empty());
      REQUIRE(checker.CheckUpdate(width, touched, keep, missing).empty());
      REQUIRE(checker.CheckUpdate(width, touched, {}, missing).empty());
      REQUIRE(checker.CheckRebuild(width, missing.blocks, {}).empty());
      for (int stored = 1; stored < parameters.m; ++stored) {
        REQUIRE(checker.CheckParity(width, stored, missing).empty());
      }
      if (!checker.elastic()) continue;
      for (const auto variant :
           {TransitionVariant::kOptimal, TransitionVariant::kPaper,
            TransitionVariant::kNoOrder}) {
        REQUIRE(checker.CheckTransition(width, variant, missing).empty());
      }
    }
  }
}

// Every scheme at every parameter set; rs and rep where k' and k do not
// repeat.
std::vector<naive::Parameters> AllSchemes() {
  std::vector<naive::Parameters> all;
  for (const auto& set : ParameterSets()) {
    for (const char* family : {"srs", "ers1", "ers2"}) {
      all.push_back({family, set.k, set.m, set.kp});
    }
    if (set.kp == set.k + 1) all.push_back({"rs", set.k, set.m, set.k});
  }
  for (int m = 1; m <= 6; ++m) all.push_back({"rep", 1, m, 1});
  // m >= k, where parity saves no reads.
  for (const auto& [k, m, kp] :
       {std::array{2, 2, 3}, {2, 3, 5}, {3, 3, 7}, {3, 4, 6}, {2, 4, 4}}) {
    for (const char* family : {"srs", "ers1", "ers2"}) {
      all.push_back({family, k, m, kp});
    }
    all.push_back({"rs", k, m, k});
  }
  return all;
}

int GroupBlocks(const naive::Parameters& parameters) {
  int blocks = parameters.k;
  while (blocks % parameters.kp != 0) blocks += parameters.k;
  return blocks;
}

// What the planners for more and less parity rest on: the blocks that both
// have are the same bytes under the same numbers.
TEST_CASE("an independent encoder, too, gives m parity blocks of any more") {
  const unsigned seed = 426;
  CAPTURE(seed);
  for (const auto& parameters : AllSchemes()) {
    CAPTURE(parameters.family, parameters.k, parameters.m, parameters.kp);
    std::mt19937 random(seed);
    naive::Parameters more = parameters;
    more.m += 2;
    const naive::Model larger(more, random);
    random.seed(seed);  // the same data
    const naive::Model smaller(parameters, random);
    REQUIRE(smaller.id_count() < larger.id_count());
    for (int id = 0; id < smaller.id_count(); ++id) {
      REQUIRE(smaller.content(id) == larger.content(id));
      REQUIRE(smaller.node_of(id) == larger.node_of(id));
    }
  }
}

TEST_CASE("plans are right in every erasure pattern of small groups") {
  const unsigned seed = 421;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& parameters : AllSchemes()) {
    if (GroupBlocks(parameters) > kExhaustiveBlocks) continue;
    ProveAll(parameters, true, 0, random);
  }
}

TEST_CASE("plans are right in sampled erasure patterns of larger groups") {
  const unsigned seed = 422;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& parameters : AllSchemes()) {
    if (GroupBlocks(parameters) <= kExhaustiveBlocks) continue;
    ProveAll(parameters, false, kSamples, random);
  }
}

TEST_CASE("plans are right with scattered blocks missing") {
  const unsigned seed = 423;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& parameters : AllSchemes()) {
    ProveScattered(parameters, kSamples / 2, random);
  }
}

TEST_CASE("plans are right for large stripes") {
  const unsigned seed = 424;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const char* family : {"srs", "ers1", "ers2"}) {
    ProveAll({family, 31, 2, 33}, false, 3, random);
    ProveAll({family, 20, 6, 30}, false, 3, random);
    ProveAll({family, 64, 3, 128}, false, 3, random);
    ProveAll({family, 2, 5, 200}, false, 2, random);
  }
}

// Hidden, as it takes long: tests/run --full asks for it by its tag.
TEST_CASE("plans are right in every erasure pattern of every set", "[.full]") {
  const unsigned seed = 425;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& parameters : AllSchemes()) {
    ProveAll(parameters, true, 0, random);
    ProveScattered(parameters, 100, random);
  }
}

}  // namespace
}  // namespace ers::plan
