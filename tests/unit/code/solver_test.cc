#include "code/solver.h"

#include <catch2/catch.hpp>
#include <random>

#include "code/field.h"
#include "code/matrix.h"

namespace ers::code {
namespace {

Vector Unit(std::size_t length, std::size_t place) {
  Vector vector(length, 0);
  vector[place] = 1;
  return vector;
}

Vector Combine(const Vector& combination, const std::vector<Vector>& known,
               std::size_t length) {
  Vector sum(length, 0);
  for (std::size_t i = 0; i < known.size(); ++i) {
    AddProduct(combination[i], known[i].data(), sum.data(), length);
  }
  return sum;
}

TEST_CASE("any k blocks of a stripe give every other block") {
  constexpr int kData = 5;
  constexpr int kParity = 3;
  const auto matrix = CodingMatrix(kData, kParity);
  std::vector<Vector> blocks;
  for (int d = 0; d < kData; ++d) blocks.push_back(Unit(kData, d));
  for (int p = 0; p < kParity; ++p) {
    Vector vector;
    for (int d = 0; d < kData; ++d) {
      vector.push_back(static_cast<std::uint8_t>(matrix->at(p, d)));
    }
    blocks.push_back(vector);
  }
  for (unsigned set = 0; set < 1U << blocks.size(); ++set) {
    std::vector<Vector> known;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if ((set >> i) & 1U) known.push_back(blocks[i]);
    }
    const auto solution = Solve(known, blocks);
    CAPTURE(set);
    REQUIRE(solution.has_value() == (known.size() >= kData));
    if (!solution) continue;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      REQUIRE(Combine((*solution)[b], known, kData) == blocks[b]);
    }
  }
}

TEST_CASE("a wanted vector outside the span is refused") {
  const std::vector<Vector> known{{1, 1, 0}, {0, 0, 1}};
  CHECK(Solve(known, std::vector<Vector>{{1, 1, 7}}).has_value());
  CHECK_FALSE(Solve(known, std::vector<Vector>{{1, 0, 0}}).has_value());
  CHECK_FALSE(
      Solve(known, std::vector<Vector>{{0, 0, 1}, {0, 1, 0}}).has_value());
}

TEST_CASE("nothing known spans zero alone") {
  const std::vector<Vector> none;
  CHECK(Solve(none, std::vector<Vector>{{0, 0}}).has_value());
  CHECK_FALSE(Solve(none, std::vector<Vector>{{0, 1}}).has_value());
  CHECK(Solve(none, none).has_value());
}

TEST_CASE("earlier known vectors are preferred, redundant ones get 0") {
  const std::vector<Vector> known{{1, 1}, {2, 2}, {1, 0}, {0, 1}};
  const auto solution = Solve(known, std::vector<Vector>{{1, 1}, {0, 1}});
  REQUIRE(solution.has_value());
  CHECK((*solution)[0] == Vector{1, 0, 0, 0});
  CHECK((*solution)[1] == Vector{1, 0, 1, 0});
}

TEST_CASE("random systems are solved exactly or refused rightly") {
  const unsigned seed = 31337;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t length = 1 + random() % 24;
    std::vector<Vector> known(random() % 30, Vector(length, 0));
    for (auto& vector : known) {
      for (auto& cell : vector) {
        if (random() % 3 == 0) cell = static_cast<std::uint8_t>(random());
      }
    }
    Vector mix(known.size());
    for (auto& cell : mix) cell = static_cast<std::uint8_t>(random());
    const std::vector<Vector> wanted{Combine(mix, known, length)};
    const auto solution = Solve(known, wanted);
    REQUIRE(solution.has_value());
    REQUIRE(Combine((*solution)[0], known, length) == wanted[0]);
  }
}

TEST_CASE("a dense group of 1,024 symbols can be solved") {
  const unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  constexpr std::size_t kLength = 1024;
  // 1,020 units and 8 random vectors: full rank but for bad luck of 2^-40.
  std::vector<Vector> known;
  for (std::size_t i = 4; i < kLength; ++i) known.push_back(Unit(kLength, i));
  for (int i = 0; i < 8; ++i) {
    Vector vector(kLength);
    for (auto& cell : vector) cell = static_cast<std::uint8_t>(random());
    known.push_back(vector);
  }
  const std::vector<Vector> wanted{Unit(kLength, 0), Unit(kLength, 3)};
  const auto solution = Solve(known, wanted);
  REQUIRE(solution.has_value());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    REQUIRE(Combine((*solution)[i], known, kLength) == wanted[i]);
  }
}

}  // namespace
}  // namespace ers::code
