#include "store/support/eviction_watch.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "store/support/touch_times.h"

namespace ers::store {
namespace {

using std::chrono::seconds;

bool HasAge(const char* stats) { return EvictionAge(stats).has_value(); }

const net::TimePoint kStart = net::TimePoint() + std::chrono::hours(1);

TEST_CASE("the age at eviction is the shortest of the classes that evicted") {
  CHECK(EvictionAge("STAT items:5:number 7\n"
                    "STAT items:5:evicted 3\n"
                    "STAT items:5:evicted_nonzero 0\n"
                    "STAT items:5:evicted_time 93\n"
                    "STAT items:9:evicted 0\n"
                    "STAT items:9:evicted_time 0\n"
                    "STAT items:12:evicted 1\n"
                    "STAT items:12:evicted_time 61\n"
                    "STAT items:12:outofmemory 0\n") == seconds(61));
}

TEST_CASE("an age of less than a second, which is shown as 0, is one") {
  CHECK(EvictionAge("STAT items:5:evicted 3\n"
                    "STAT items:5:evicted_time 93\n"
                    "STAT items:9:evicted 3\n"
                    "STAT items:9:evicted_time 0\n") == seconds(1));
}

TEST_CASE("there is no age where nothing was evicted") {
  CHECK_FALSE(HasAge("STAT items:5:evicted 0\nSTAT items:5:evicted_time 0\n"));
  CHECK_FALSE(HasAge(""));
  CHECK_FALSE(HasAge("STAT items:5:evicted 2\n"));
  CHECK_FALSE(HasAge("STAT items:5:evicted 2\nSTAT items:5:evicted_time \n"));
  CHECK_FALSE(HasAge("STAT items:5:evicted \nSTAT items:5:evicted_time 4\n"));
}

TEST_CASE("one caller asks in each while") {
  EvictionWatch watch;
  CHECK(watch.TakeTurn(kStart, false));
  CHECK_FALSE(watch.TakeTurn(kStart, false));
  CHECK_FALSE(watch.TakeTurn(kStart + seconds(4), false));
  CHECK(watch.TakeTurn(kStart + seconds(5), false));
  CHECK_FALSE(watch.TakeTurn(kStart + seconds(6), false));
}

TEST_CASE("a process that rests asks seldom, and at once where it has a call") {
  EvictionWatch watch;
  CHECK(watch.TakeTurn(kStart, /*rests=*/true));
  CHECK_FALSE(watch.TakeTurn(kStart + seconds(29), true));
  CHECK(watch.TakeTurn(kStart + seconds(30), true));
  CHECK_FALSE(watch.TakeTurn(kStart + seconds(36), true));
  CHECK(watch.TakeTurn(kStart + seconds(36), false));
}

TEST_CASE("touches follow the age at eviction") {
  EvictionWatch watch;
  CHECK_FALSE(watch.touch_period().has_value());
  watch.Set(seconds(64));
  CHECK(watch.touch_period() == seconds(2));
  watch.Set(std::chrono::hours(24));
  CHECK(watch.touch_period() == seconds(60));
  watch.Set(std::nullopt);
  CHECK_FALSE(watch.touch_period().has_value());
}

// Hashes of keys.
constexpr std::uint64_t kKey = 7;
constexpr std::uint64_t kOther = 8;

TEST_CASE("touches are due once per period, and once more when read again") {
  TouchTimes times;
  const net::Duration period = seconds(2);
  CHECK(times.Due(kKey, false, kStart, period) == 1);
  CHECK(times.Due(kKey, false, kStart + seconds(1), period) == 0);
  CHECK(times.Due(kOther, false, kStart + seconds(1), period) == 1);
  // Now the server knows it as read twice, and keeps it for longer.
  CHECK(times.Due(kKey, true, kStart + seconds(1), period) == 2);
  CHECK(times.Due(kKey, true, kStart + seconds(2), period) == 0);
  CHECK(times.Due(kKey, false, kStart + seconds(2), period) == 0);
  CHECK(times.Due(kKey, true, kStart + seconds(3), period) == 2);
}

}  // namespace
}  // namespace ers::store
