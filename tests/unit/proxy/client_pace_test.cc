// The pace of a client: what memory that waits for it is closed by.
#include "server/client_pace.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>

using namespace ers;
using namespace ers::proxy;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr net::TimePoint kStart{std::chrono::hours(1)};
constexpr bool kClients = true;
constexpr bool kOthers = false;

}  // namespace

TEST_CASE("a client is idle from its last byte on") {
  ClientPace pace(kStart);
  CHECK_FALSE(pace.IdleSince(kStart));
  CHECK(pace.IdleSince(kStart + milliseconds(1)));
  pace.Moved(1, kStart + seconds(10));
  CHECK_FALSE(pace.IdleSince(kStart + seconds(10)));
  CHECK(pace.IdleSince(kStart + seconds(11)));
}

TEST_CASE("the first measure of a client gives no rate, the next one does") {
  ClientPace pace(kStart);
  pace.Moved(500, kStart);
  CHECK_FALSE(pace.Rate(kStart, kStart, kClients, 0));
  pace.Moved(1000, kStart + seconds(1));
  CHECK(pace.Rate(kStart + seconds(5), kStart, kClients, 0) == 200.0);
  CHECK(pace.Rate(kStart + seconds(15), kStart, kClients, 0) == 0.0);
}

TEST_CASE("no rate is of less than the window, and such a measure counts not") {
  ClientPace pace(kStart);
  CHECK_FALSE(pace.Rate(kStart, kStart, kClients, 0));
  pace.Moved(1000, kStart + seconds(1));
  const net::TimePoint early = kStart + ClientPace::kWindow - milliseconds(1);
  CHECK_FALSE(pace.Rate(early, kStart, kClients, 0));
  CHECK(pace.Rate(kStart + seconds(10), kStart, kClients, 0) == 100.0);
}

TEST_CASE("bytes that have come and are not taken count once") {
  ClientPace pace(kStart);
  CHECK_FALSE(pace.Rate(kStart, kStart, kClients, 400));
  CHECK(pace.Rate(kStart + seconds(5), kStart, kClients, 1400) == 200.0);
  pace.Moved(1400, kStart + seconds(6));  // they are taken now
  CHECK(pace.Rate(kStart + seconds(10), kStart, kClients, 0) == 0.0);
}

TEST_CASE("a client has no rate while memory waits for others") {
  ClientPace pace(kStart);
  CHECK_FALSE(pace.Rate(kStart, kStart, kClients, 0));
  CHECK_FALSE(pace.Rate(kStart + seconds(5), kStart, kOthers, 0));
  pace.Moved(1000, kStart + seconds(6));
  CHECK(pace.Rate(kStart + seconds(15), kStart, kClients, 0) == 100.0);
}

TEST_CASE("a measure that is too old or forgotten gives no rate") {
  ClientPace pace(kStart);
  CHECK_FALSE(pace.Rate(kStart, kStart, kClients, 0));
  const net::TimePoint since = kStart + seconds(20);
  CHECK_FALSE(pace.Rate(since, since, kClients, 0));
  CHECK(pace.Rate(since + seconds(5), since, kClients, 0) == 0.0);
  pace.Forget();
  CHECK_FALSE(pace.Rate(since + seconds(10), since, kClients, 0));
}
