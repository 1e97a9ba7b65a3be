// Bytes per second, on a clock of the test's own.
#include "store/support/rate_limiter.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <random>

namespace ers::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("no limit lets everything through") {
  const net::TimePoint now;
  RateLimiter limiter(0, now);
  for (int i = 0; i < 100; ++i) {
    CHECK(limiter.Take(std::uint64_t{1} << 40, now).count() == 0);
  }
}

TEST_CASE("what was taken is waited for, and not longer") {
  net::TimePoint now;
  RateLimiter limiter(1000, now);
  CHECK(limiter.Take(500, now).count() == 0);
  const net::Duration wait = limiter.Take(500, now);
  CHECK(wait > milliseconds(499));
  CHECK(wait < milliseconds(501));
  CHECK(limiter.Take(500, now + wait / 2).count() > 0);
  now += wait;
  CHECK(limiter.Take(500, now).count() == 0);
}

TEST_CASE("no more is saved up than the burst") {
  net::TimePoint now;
  RateLimiter limiter(1000, now);
  now += seconds(1000);
  CHECK(limiter.Take(100, now).count() == 0);
  CHECK(limiter.Take(1, now).count() == 0);  // to the last one, and over it
  CHECK(limiter.Take(1, now).count() > 0);
}

TEST_CASE("an estimate is corrected both ways") {
  net::TimePoint now;
  RateLimiter limiter(1000, now);
  CHECK(limiter.Take(1000, now).count() == 0);
  limiter.Correct(1000, 10);
  CHECK(limiter.Take(1, now).count() <= 10'000'001);
  now += milliseconds(11);
  CHECK(limiter.Take(10, now).count() == 0);
  limiter.Correct(10, 5000);
  CHECK(limiter.Take(1, now) > seconds(4));
}

TEST_CASE("whatever is estimated, the rate holds") {
  constexpr std::uint64_t kRate = 1'000'000;
  constexpr std::uint64_t kMax = 300'000;  // of one piece of work
  const auto seed = GENERATE(1u, 2u, 3u, 4u, 5u);
  std::mt19937_64 random(seed);
  const net::TimePoint begin;
  net::TimePoint now = begin;
  RateLimiter limiter(kRate, now);
  std::uint64_t moved = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t estimate = random() % kMax;
    const net::Duration wait = limiter.Take(estimate, now);
    if (wait.count() > 0) {
      now += wait;
      continue;
    }
    const std::uint64_t actual = random() % kMax;
    moved += actual;
    limiter.Correct(estimate, actual);
    if (random() % 50 == 0) now += seconds(1);
    const auto allowed =
        static_cast<double>(kRate) *
        std::chrono::duration<double>(now - begin + RateLimiter::kBurst)
            .count();
    REQUIRE(static_cast<double>(moved) <= allowed + kMax);
  }
  // And it is used.
  CHECK(moved > kRate * 100);
}

}  // namespace
}  // namespace ers::store
