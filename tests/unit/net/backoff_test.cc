#include "net/backoff.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <limits>

namespace ers::net {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a backoff doubles up to its limit, and begins anew") {
  Backoff backoff(milliseconds(50), milliseconds(400));
  for (const int half : {25, 50, 100, 200, 200}) {
    CHECK(backoff.Next(0) == milliseconds(half));
  }
  for (int i = 0; i < 100; ++i) CHECK(backoff.Next(0) == milliseconds(200));
  backoff.Reset();
  CHECK(backoff.Next(0) == milliseconds(25));
}

TEST_CASE("half of a backoff is chance") {
  Backoff backoff(milliseconds(50), milliseconds(50));
  const auto half = Duration(milliseconds(25)).count();
  const auto most = static_cast<std::uint64_t>(half);
  CHECK(backoff.Next(most) == milliseconds(50));
  CHECK(backoff.Next(most + 1) == milliseconds(25));
  const Duration any =
      backoff.Next(std::numeric_limits<std::uint64_t>::max() - 7);
  CHECK(any >= milliseconds(25));
  CHECK(any <= milliseconds(50));
}

}  // namespace
}  // namespace ers::net
