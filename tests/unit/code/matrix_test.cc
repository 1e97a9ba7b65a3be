#include "code/matrix.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "code/field.h"
#include "unit/code/reference.h"

namespace ers::code {
namespace {

TEST_CASE("the matrices over GF(2^4) are the ones the ERS paper prints") {
  const auto cells = [](int k, int m) {
    return VandermondeMatrix(k, m, 4).cells;
  };
  CHECK(cells(2, 2) == std::vector<int>{1, 1, 1, 8});
  CHECK(cells(4, 3) == std::vector<int>{1, 1, 1, 1, 1, 15, 2, 14, 1, 12, 8, 5});
  CHECK(cells(5, 3) ==
        std::vector<int>{1, 1, 1, 1, 1, 1, 3, 6, 10, 14, 1, 10, 4, 15, 11});
}

TEST_CASE("row 0 and column 0 of a matrix over GF(2^8) are ones") {
  for (int k = 1; k <= 48; ++k) {
    for (int m = 1; m <= 8; ++m) {
      const auto matrix = CodingMatrix(k, m);
      REQUIRE(matrix->rows == m);
      REQUIRE(matrix->columns == k);
      for (int c = 0; c < k; ++c) REQUIRE(matrix->at(0, c) == 1);
      for (int p = 0; p < m; ++p) REQUIRE(matrix->at(p, 0) == 1);
    }
  }
}

void CheckNested(int k, int m, const Matrix& largest) {
  CAPTURE(k, m);
  const auto matrix = CodingMatrix(k, m);
  REQUIRE(std::equal(matrix->cells.begin(), matrix->cells.end(),
                     largest.cells.begin()));
  // The rows are Jerasure's, each once.
  const Matrix raw = VandermondeMatrix(k, m);
  const auto row = [&](const Matrix& of, int r) {
    return std::vector<int>(of.cells.begin() + r * k,
                            of.cells.begin() + (r + 1) * k);
  };
  REQUIRE(row(*matrix, 0) == row(raw, 0));
  for (int r = 1; r < m; ++r) {
    REQUIRE(row(*matrix, r) == row(raw, r == 1 ? m - 1 : r - 1));
  }
}

TEST_CASE("the first m rows of a coding matrix do not depend on m") {
  for (int k = 1; k <= 24; ++k) {
    const auto largest = CodingMatrix(k, 255 - k);
    for (int m = 1; m <= 12; ++m) CheckNested(k, m, *largest);
    CheckNested(k, 254 - k, *largest);
  }
  for (const int k : {31, 32, 33, 63, 64, 100, 127, 128, 200, 250, 254}) {
    const auto largest = CodingMatrix(k, 255 - k);
    for (int m = 1; m <= std::min(6, 255 - k); ++m) CheckNested(k, m, *largest);
  }
}

TEST_CASE("the largest matrices can be made") {
  CHECK(CodingMatrix(250, 5)->cells.size() == 1250);
  CHECK(CodingMatrix(1, 254)->cells.size() == 254);
}

TEST_CASE("threads that ask for matrices at once get the same ones") {
  std::vector<std::shared_ptr<const Matrix>> results(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&results, i] {
      for (int k = 2; k < 40; ++k) results[i] = CodingMatrix(k, 3);
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
