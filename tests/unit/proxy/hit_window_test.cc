#include "jobs/hit_window.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace ers::proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

net::TimePoint At(milliseconds time) {
  return net::TimePoint() + std::chrono::hours(1) + time;
}

TEST_CASE("a key is hit often enough within the time, and begins anew") {
  HitWindow window(10, seconds(8), 100);
  CHECK_FALSE(window.Add("a", 4, At(milliseconds(0))));
  CHECK_FALSE(window.Add("b", 9, At(milliseconds(1))));
  CHECK_FALSE(window.Add("a", 5, At(milliseconds(6000))));
  CHECK(window.Add("a", 1, At(milliseconds(6500))));
  CHECK_FALSE(window.Add("a", 9, At(milliseconds(6600))));
  CHECK(window.Add("c", 10, At(milliseconds(6600))));
  CHECK(window.size() == 2);
}

TEST_CASE("hits count for the time, or an eighth less") {
  HitWindow early(10, seconds(8), 100);
  CHECK_FALSE(early.Add("a", 9, At(milliseconds(0))));
  CHECK(early.Add("a", 1, At(milliseconds(6999))));
  HitWindow late(10, seconds(8), 100);
  CHECK_FALSE(late.Add("a", 9, At(milliseconds(0))));
  CHECK_FALSE(late.Add("a", 1, At(milliseconds(8000))));
  HitWindow later(10, seconds(8), 100);
  CHECK_FALSE(later.Add("a", 9, At(milliseconds(0))));
  CHECK_FALSE(later.Add("a", 9, At(seconds(8000))));
  CHECK(later.Add("a", 1, At(seconds(8000))));
}

TEST_CASE("the keys hit longest ago are forgotten") {
  HitWindow window(3, seconds(8), 2);
  CHECK_FALSE(window.Add("a", 2, At(milliseconds(0))));
  CHECK_FALSE(window.Add("b", 2, At(milliseconds(0))));
  CHECK_FALSE(window.Add("c", 1, At(milliseconds(0))));
  CHECK(window.size() == 2);
  CHECK_FALSE(window.Add("a", 2, At(milliseconds(0))));
  CHECK(window.Add("c", 2, At(milliseconds(0))));
}

}  // namespace
}  // namespace ers::proxy
