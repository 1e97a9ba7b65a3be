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
  HitWindow window({10}, seconds(8), 100);
  CHECK(window.Add("a", 4, At(milliseconds(0))) == 0);
  CHECK(window.Add("b", 9, At(milliseconds(1))) == 0);
  CHECK(window.Add("a", 5, At(milliseconds(6000))) == 0);
  CHECK(window.Add("a", 1, At(milliseconds(6500))) > 0);
  CHECK(window.Add("a", 9, At(milliseconds(6600))) == 0);
  CHECK(window.Add("c", 10, At(milliseconds(6600))) > 0);
  CHECK(window.size() == 3);
}

TEST_CASE("a key is reported at each higher level, with all its hits") {
  HitWindow window({10, 100}, seconds(80), 100);
  CHECK(window.Add("a", 9, At(milliseconds(0))) == 0);
  CHECK(window.Add("a", 1, At(milliseconds(1))) == 10);
  CHECK(window.Add("a", 9, At(milliseconds(2))) == 0);
  CHECK(window.Add("a", 81, At(milliseconds(3))) == 100);
  CHECK(window.Add("b", 100, At(milliseconds(4))) == 100);
}

// What was left alone the first time has another try.
TEST_CASE("a key is reported again once it is hit as often again") {
  HitWindow window({10, 100}, seconds(80), 100);
  CHECK(window.Add("a", 50, At(milliseconds(0))) == 50);
  CHECK(window.Add("a", 9, At(milliseconds(1))) == 0);
  CHECK(window.Add("a", 1, At(milliseconds(2))) == 60);
  CHECK(window.Add("a", 40, At(milliseconds(3))) == 100);
  CHECK(window.Add("a", 99, At(milliseconds(4))) == 0);
  CHECK(window.Add("a", 1, At(milliseconds(5))) == 200);
  CHECK(window.Add("a", 9, At(seconds(1000))) == 0);
  CHECK(window.Add("a", 1, At(seconds(1000))) == 10);
}

TEST_CASE("hits count for the time, or an eighth less") {
  HitWindow early({10}, seconds(8), 100);
  CHECK(early.Add("a", 9, At(milliseconds(0))) == 0);
  CHECK(early.Add("a", 1, At(milliseconds(6999))) > 0);
  HitWindow late({10}, seconds(8), 100);
  CHECK(late.Add("a", 9, At(milliseconds(0))) == 0);
  CHECK(late.Add("a", 1, At(milliseconds(8000))) == 0);
  HitWindow later({10}, seconds(8), 100);
  CHECK(later.Add("a", 9, At(milliseconds(0))) == 0);
  CHECK(later.Add("a", 9, At(seconds(8000))) == 0);
  CHECK(later.Add("a", 1, At(seconds(8000))) > 0);
}

TEST_CASE("the keys hit longest ago are forgotten") {
  HitWindow window({3}, seconds(8), 2);
  CHECK(window.Add("a", 2, At(milliseconds(0))) == 0);
  CHECK(window.Add("b", 2, At(milliseconds(0))) == 0);
  CHECK(window.Add("c", 1, At(milliseconds(0))) == 0);
  CHECK(window.size() == 2);
  CHECK(window.Add("a", 2, At(milliseconds(0))) == 0);
  CHECK(window.Add("c", 2, At(milliseconds(0))) > 0);
}

}  // namespace
}  // namespace ers::proxy
