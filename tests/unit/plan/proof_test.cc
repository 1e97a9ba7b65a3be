// Proves plans on bytes, with no sockets: whatever is missing, they must give
// what an independent encoder gives.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "unit/plan/parameter_sets.h"
#include "unit/plan/proving.h"

namespace ers::plan {
namespace {

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
  // Some chains; chains_test.cc has all of them, in fewer patterns.
  for (int m = 1; m <= 3; ++m) {
    all.push_back({"ers", 2, m, 4});
    all.push_back({"ers", 2, m, 6, {3}});
    all.push_back({"ers", 2, m, 8, {4}});
    all.push_back({"ers", 4, m, 12, {6}});
    all.push_back({"ers", 4, m, 12, {6, 8}});
  }
  return all;
}

int GroupBlocks(const naive::Parameters& parameters) {
  int blocks = std::lcm(parameters.k, parameters.kp);
  for (const int width : parameters.middle) blocks = std::lcm(blocks, width);
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
    ProveScattered(parameters, std::max(1, kSamples / 2), random);
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
