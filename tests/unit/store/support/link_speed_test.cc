// LinkSpeed: what is remembered of a link, and for how long.
#include "store/support/link_speed.h"

#include <catch2/catch.hpp>
#include <chrono>

namespace ers::store {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

TEST_CASE("nothing is known of a link that was not used") {
  CHECK_FALSE(LinkSpeed().Known(net::TimePoint{}));
}

TEST_CASE("the best rate and the least travel count") {
  LinkSpeed speed;
  const net::TimePoint now{};
  speed.Learn({1e6, microseconds(300)}, now);
  speed.Learn({3e6, microseconds(200)}, now);
  speed.Learn({2e6, microseconds(500)}, now);
  const auto known = speed.Known(now);
  REQUIRE(known);
  CHECK(known->rate == 3e6);
  CHECK(known->travel == microseconds(200));
}

// However often it is learnt anew: a run that asks for little sees little.
TEST_CASE("a minute after the first run all of it is forgotten") {
  LinkSpeed speed;
  const net::TimePoint begin{};
  speed.Learn({3e6, microseconds(200)}, begin);
  speed.Learn({2e6, microseconds(300)}, begin + seconds(59));
  REQUIRE(speed.Known(begin + seconds(59)));
  CHECK_FALSE(speed.Known(begin + seconds(60)));
  speed.Learn({1e6, microseconds(400)}, begin + seconds(61));
  const auto known = speed.Known(begin + seconds(62));
  REQUIRE(known);
  CHECK(known->rate == 1e6);
  CHECK(known->travel == microseconds(400));
}

}  // namespace
}  // namespace ers::store
