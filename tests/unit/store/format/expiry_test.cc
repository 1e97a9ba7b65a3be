#include "store/format/expiry.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace ers::store {
namespace {

TEST_CASE("a plain item ends with the object that it was") {
  constexpr std::int64_t kNow = 1'700'000'000;
  constexpr std::int64_t kNowUs = kNow * 1'000'000 + 999'999;
  constexpr std::int64_t kMonth = 60 * 60 * 24 * 30;
  CHECK(PlainExptime(0, kNowUs) == 0);
  CHECK(PlainExptime(kNow + 10, kNowUs) == 10);
  // Over by now: memcached must not be sent 0, which is for ever.
  CHECK(PlainExptime(kNow, kNowUs) == 1);
  // Over 30 days memcached takes the number for a Unix time, of 31 bits.
  CHECK(PlainExptime(kNow + kMonth, kNowUs) == kMonth);
  CHECK(PlainExptime(kNow + kMonth + 1, kNowUs) == kNow + kMonth + 1);
  CHECK(PlainExptime(2147483648, kNowUs) == 2147483647);
}

TEST_CASE("an item ends before its object, or does not") {
  constexpr std::int64_t kNow = 1'700'000'000;
  constexpr std::int64_t kNowUs = kNow * 1'000'000 + 999'999;
  CHECK(LivesLonger(0, kNow));
  CHECK(LivesLonger(kNow + 1, kNow));
  CHECK_FALSE(LivesLonger(kNow, kNow));
  CHECK_FALSE(LivesLonger(kNow, 0));
  CHECK_FALSE(LivesLonger(0, 0));
  CHECK(EndsBefore(10, kNow + 11, kNowUs));
  CHECK_FALSE(EndsBefore(10, kNow + 10, kNowUs));
  CHECK(EndsBefore(10, 0, kNowUs));
  CHECK_FALSE(EndsBefore(-1, 0, kNowUs));
  // What an object's own expiry gives is never too short.
  CHECK_FALSE(EndsBefore(BlockExptime(kNow + 10, kNowUs), kNow + 10, kNowUs));
}

TEST_CASE("by when a manifest's item ends it is known that it has ended") {
  constexpr std::int64_t kNow = 1'700'000'000;
  constexpr std::int64_t kNowUs = kNow * 1'000'000;
  constexpr std::int64_t kDay = 60 * 60 * 24;
  Manifest touched;
  touched.outlived = true;
  // It never ends: nor does its item.
  CHECK(ManifestExptime(touched, kNowUs) == 0);
  for (const std::int64_t life : {std::int64_t{1}, kDay, 100 * kDay}) {
    CAPTURE(life);
    touched.expiry = kNow + life;
    // A Unix time, as it is more than 30 days away.
    const std::int64_t ends = ManifestExptime(touched, kNowUs);
    const auto at = [](std::int64_t seconds) { return seconds * 1'000'000; };
    CHECK_FALSE(MayHaveEnded(ends, at(touched.expiry - 1)));
    CHECK(MayHaveEnded(ends, at(touched.expiry)));
    CHECK(MayHaveEnded(ends, at(touched.expiry + 300 * kDay)));
  }
  // Others, unless they were given very long.
  CHECK_FALSE(MayHaveEnded(-1, kNowUs));
  CHECK_FALSE(MayHaveEnded(kNow, kNowUs));
  CHECK_FALSE(MayHaveEnded(kNow + 30 * kDay + 60, kNowUs));
}

}  // namespace
}  // namespace ers::store
