#include "store/support/cluster_clock.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

#include "base/micros.h"
#include "net/runtime.h"
#include "unit/store/support/test_clock.h"

namespace ers::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kStart = 1'700'000'000;
constexpr std::int64_t kHour = 3600;

struct Fixture {
  // `shown` by a server that was asked just now.
  void Note(int member, std::int64_t shown) {
    clock.Note(clocks, member, static_cast<std::uint64_t>(shown), clocks.now);
  }
  [[nodiscard]] double Seconds() {
    return static_cast<double>(clock.Micros(clocks)) / kMicrosPerSecond;
  }

  test::TestClock clocks{};
  Fixture() {
    clocks.wall_us = kStart * kMicrosPerSecond;
    clocks.now = net::TimePoint{seconds(100)};
  }
  ClusterClock clock{4};
};

TEST_CASE(
    "the time is this process's own until half of the servers have shown it") {
  Fixture f;
  CHECK(f.Seconds() == kStart);
  f.Note(0, kStart + kHour);
  f.clocks.wall_us = (kStart + 5) * kMicrosPerSecond;
  CHECK(f.Seconds() == kStart + 5);
  CHECK_FALSE(f.clock.Agreed(f.clocks.now).has_value());
  f.Note(1, kStart + kHour);
  CHECK(f.Seconds() == kStart + kHour + 1);
  CHECK(f.clock.Agreed(f.clocks.now).has_value());
}

TEST_CASE("a clock that is right stays, and its steps are not noticed") {
  Fixture f;
  for (int i = 0; i < 4; ++i) f.Note(i, kStart);
  CHECK(f.Seconds() == kStart);
  f.clocks.wall_us -= kHour * kMicrosPerSecond;
  f.clocks.now += milliseconds(2500);
  CHECK(f.Seconds() == kStart + 2.5);
  // Servers show whole seconds, up to two late.
  for (int i = 0; i < 4; ++i) f.Note(i, kStart + (i < 2 ? 1 : 2));
  CHECK(f.Seconds() == kStart + 2.5);
}

TEST_CASE("clocks that are wrong by any time come to nearly the same") {
  for (const std::int64_t wrong : {-kHour, -3L, 3L, kHour}) {
    CAPTURE(wrong);
    Fixture f;
    f.clocks.wall_us += wrong * kMicrosPerSecond;
    for (int i = 0; i < 4; ++i) f.Note(i, kStart);
    CHECK(f.Seconds() == kStart + 1);
  }
}

TEST_CASE("servers whose clocks are wrong do not matter while they are few") {
  for (const std::int64_t wrong : {-kHour, kHour}) {
    CAPTURE(wrong);
    Fixture f;
    for (int i = 1; i < 4; ++i) f.Note(i, kStart);
    f.Note(0, kStart + wrong);
    CHECK(f.Seconds() == kStart);
  }
}

TEST_CASE("the time never goes back, and follows what the servers show") {
  Fixture f;
  for (int i = 0; i < 4; ++i) f.Note(i, kStart + 10);
  CHECK(f.Seconds() == kStart + 11);
  // They were wrong.
  for (int i = 0; i < 4; ++i) f.Note(i, kStart);
  CHECK(f.Seconds() == kStart + 11);
  f.clocks.now += seconds(9);
  CHECK(f.Seconds() == kStart + 11);
  f.clocks.now += seconds(3);
  CHECK(f.Seconds() == kStart + 13);
  // This process was stopped, its monotonic clock too.
  for (int i = 0; i < 4; ++i) f.Note(i, kStart + 500);
  CHECK(f.Seconds() == kStart + 501);
}

TEST_CASE("an answer that was long under way moves nothing that may be right") {
  Fixture f;
  for (int i = 0; i < 4; ++i) f.Note(i, kStart);
  const net::TimePoint asked = f.clocks.now;
  f.clocks.now += seconds(20);
  for (const std::int64_t shown : {kStart - 2, kStart + 20}) {
    for (int i = 0; i < 4; ++i) {
      f.clock.Note(f.clocks, i, static_cast<std::uint64_t>(shown), asked);
    }
    CHECK(f.Seconds() == kStart + 20);
  }
  f.clock.Note(f.clocks, 0, UINT64_MAX, asked);
  CHECK(f.Seconds() == kStart + 20);
}

TEST_CASE("one caller asks the servers, again after a while") {
  Fixture f;
  CHECK(f.clock.TakeTurn(f.clocks.now));
  CHECK_FALSE(f.clock.TakeTurn(f.clocks.now));
  f.clocks.now += seconds(4);
  CHECK(f.clock.TakeTurn(f.clocks.now));
  // The first talk on a connection has asked already.
  Fixture fresh;
  for (int i = 0; i < 4; ++i) fresh.Note(i, kStart);
  CHECK_FALSE(fresh.clock.TakeTurn(fresh.clocks.now));
}

}  // namespace
}  // namespace ers::store
