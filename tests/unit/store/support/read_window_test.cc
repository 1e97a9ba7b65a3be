// ReadWindow: how much is asked for ahead, on slow and fast links.
#include "store/support/read_window.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>

namespace ers::store {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t kBlock = 50'000;
constexpr std::size_t kPiece = 10'000;
// Bytes a second, of 200 Mbit/s.
constexpr double kSlow = 25e6;

// What a new window lets be on its way.
std::size_t Ahead(ReadWindow& window, std::size_t block = kBlock) {
  std::size_t asked = 0;
  for (; window.IsOpen() && asked < 1000 * block; asked += block) {
    window.Asked(block);
  }
  return asked;
}

// One run, of a link that brings so much each microsecond, `travel` after it
// was asked for.
void RunOver(LinkSpeed& speed, std::size_t bytes_a_us, net::Duration travel,
             std::size_t size) {
  net::TimePoint now{};
  ReadWindow window(speed, now);
  window.Asked(size);
  now += travel;
  window.Travelled(travel);
  for (std::size_t came = 0; came < size; came += kPiece) {
    window.Came(kPiece, now);
    now += microseconds(kPiece / bytes_a_us);
  }
  window.End(now);
}

LinkSpeed Knowing(double rate, net::Duration travel) {
  LinkSpeed speed;
  speed.Learn({rate, travel}, net::TimePoint{});
  return speed;
}

TEST_CASE("all is asked for at once where nothing is known of the link") {
  LinkSpeed speed;
  ReadWindow window(speed, net::TimePoint{});
  CHECK(Ahead(window) == 1000 * kBlock);
}

TEST_CASE("little is asked for ahead on a slow link") {
  // Twice 0.5 ms bring 25,000 bytes.
  LinkSpeed speed = Knowing(kSlow, microseconds(200));
  ReadWindow window(speed, net::TimePoint{});
  CHECK(Ahead(window, 1000) == 25'000);
}

TEST_CASE("as much as the link brings meanwhile where requests travel long") {
  // Twice 4 ms bring 200,000 bytes.
  LinkSpeed speed = Knowing(kSlow, milliseconds(4));
  ReadWindow window(speed, net::TimePoint{});
  CHECK(Ahead(window, 1000) == 200'000);
}

TEST_CASE("a few packets are asked for however slow the link") {
  LinkSpeed speed = Knowing(1e5, microseconds(200));
  ReadWindow window(speed, net::TimePoint{});
  CHECK(Ahead(window, 1024) == 16 * 1024);
}

TEST_CASE("a run shows what the link brought and how long requests took") {
  LinkSpeed speed;
  RunOver(speed, 25, microseconds(300), 600'000);
  const auto known = speed.Known(net::TimePoint{});
  REQUIRE(known);
  CHECK(known->rate == Approx(kSlow).epsilon(0.01));
  CHECK(known->travel == microseconds(300));
}

TEST_CASE("too little to time shows nothing") {
  LinkSpeed speed;
  RunOver(speed, 25, microseconds(300), 200'000);
  CHECK_FALSE(speed.Known(net::TimePoint{}));
}

// Some of it piled up and came at once, the last was one slow server's.
TEST_CASE("the middle part of a run shows its rate") {
  LinkSpeed speed;
  net::TimePoint now{};
  ReadWindow window(speed, now);
  window.Asked(190 * kPiece);
  window.Travelled(microseconds(300));
  for (int i = 0; i < 190; ++i) {
    window.Came(kPiece, now);
    if (i < 60) {
      now += microseconds(20);
    } else {
      now += microseconds(i < 140 ? 400 : 4000);
    }
  }
  window.End(now);
  const auto known = speed.Known(now);
  REQUIRE(known);
  CHECK(known->rate == Approx(kSlow).epsilon(0.05));
}

// It waited behind other blocks.
TEST_CASE("the block that travelled least shows how long requests take") {
  LinkSpeed speed;
  net::TimePoint now{};
  ReadWindow window(speed, now);
  window.Asked(40 * kPiece);
  window.Travelled(milliseconds(2));
  window.Travelled(microseconds(300));
  window.Travelled(milliseconds(8));
  for (int i = 0; i < 40; ++i) {
    window.Came(kPiece, now);
    now += microseconds(400);
  }
  window.End(now);
  const auto known = speed.Known(now);
  REQUIRE(known);
  CHECK(known->travel == microseconds(300));
}

// Such as when one server, that is slow, has yet to send the rest of a step.
TEST_CASE("one more is asked for where less comes than the link can bring") {
  LinkSpeed speed = Knowing(kSlow, milliseconds(8));
  net::TimePoint now{};
  ReadWindow window(speed, now);
  for (int i = 0; i < 40; ++i) window.Asked(kBlock);
  const auto come = [&](std::size_t bytes_a_us) {
    now += microseconds(kPiece / bytes_a_us);
    window.Came(kPiece, now);
  };
  for (int i = 0; i < 120; ++i) come(25);
  REQUIRE_FALSE(window.IsOpen());
  int pieces = 0;
  for (; pieces < 10 && !window.IsOpen(); ++pieces) come(5);
  CHECK(pieces > 0);
  CHECK(pieces < 8);
  window.Asked(kBlock);
  CHECK_FALSE(window.IsOpen());
}

TEST_CASE("a short pause of the link is no lag") {
  LinkSpeed speed = Knowing(10 * kSlow, milliseconds(2));
  net::TimePoint now{};
  ReadWindow window(speed, now);
  Ahead(window);
  window.Asked(kBlock);
  window.Came(100, now);
  // 375,000 bytes were due, but soon there are more.
  now += microseconds(1500);
  window.Came(100, now);
  CHECK_FALSE(window.IsOpen());
}

TEST_CASE("a little link is not judged by a little time") {
  LinkSpeed speed = Knowing(kSlow, milliseconds(2));
  net::TimePoint now{};
  ReadWindow window(speed, now);
  Ahead(window);
  window.Asked(kBlock);
  window.Came(100, now);
  // 62,500 bytes were due: no more than a burst.
  now += microseconds(2500);
  window.Came(100, now);
  CHECK_FALSE(window.IsOpen());
  now += microseconds(200);
  window.Came(100, now);
  CHECK(window.IsOpen());
}

TEST_CASE("what came and is asked for again is on its way again") {
  LinkSpeed speed = Knowing(kSlow, milliseconds(2));
  ReadWindow window(speed, net::TimePoint{});
  window.Asked(2 * kBlock);
  CHECK_FALSE(window.IsOpen());
  window.Came(2 * kPiece, net::TimePoint{});
  CHECK(window.IsOpen());
  window.AskedAgain(2 * kPiece);
  CHECK_FALSE(window.IsOpen());
}

TEST_CASE("a run by what is forgotten at its end shows nothing") {
  LinkSpeed speed = Knowing(kSlow, microseconds(200));
  net::TimePoint now = net::TimePoint{} + std::chrono::seconds(59);
  ReadWindow window(speed, now);
  REQUIRE(Ahead(window) < 1000 * kBlock);
  window.Asked(40 * kPiece);
  window.Travelled(microseconds(300));
  for (int i = 0; i < 40; ++i) {
    window.Came(kPiece, now);
    now += milliseconds(30);
  }
  window.End(now);
  CHECK_FALSE(speed.Known(now));
}

}  // namespace
}  // namespace ers::store
