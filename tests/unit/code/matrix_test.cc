#include "code/matrix.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "code/field.h"
#include "unit/code/reference.h"

namespace ers::code {
namespace {

TEST_CASE("the matrices over GF(2^4) are the ones the ERS paper prints") {
  const auto cells = [](int k, int m) {
    return VandermondeMatrix(k, m, 4)->cells;
  };
  CHECK(cells(2, 2) == std::vector<int>{1, 1, 1, 8});
  CHECK(cells(4, 3) == std::vector<int>{1, 1, 1, 1, 1, 15, 2, 14, 1, 12, 8, 5});
  CHECK(cells(5, 3) ==
        std::vector<int>{1, 1, 1, 1, 1, 1, 3, 6, 10, 14, 1, 10, 4, 15, 11});
}

TEST_CASE("row 0 and column 0 of a matrix over GF(2^8) are ones") {
  for (int k = 1; k <= 48; ++k) {
    for (int m = 1; m <= 8; ++m) {
      const auto matrix = VandermondeMatrix(k, m);
      REQUIRE(matrix->rows == m);
      REQUIRE(matrix->columns == k);
      for (int c = 0; c < k; ++c) REQUIRE(matrix->at(0, c) == 1);
      for (int p = 0; p < m; ++p) REQUIRE(matrix->at(p, 0) == 1);
    }
  }
}

TEST_CASE("the largest matrices can be made") {
  CHECK(VandermondeMatrix(250, 5)->cells.size() == 1250);
  CHECK(VandermondeMatrix(1, 254)->cells.size() == 254);
}

TEST_CASE("threads that ask for matrices at once get the same ones") {
  std::vector<std::shared_ptr<const Matrix>> results(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&results, i] {
      for (int k = 2; k < 40; ++k) results[i] = VandermondeMatrix(k, 3);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) {
    CHECK(result->cells == results[0]->cells);
  }
}

TEST_CASE("symbols multiply and invert as shift and add says") {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      REQUIRE(Product(a, b) == BitwiseProduct(a, b));
    }
    if (a != 0) REQUIRE(BitwiseProduct(a, Inverse(a)) == 1);
  }
}

}  // namespace
}  // namespace ers::code
