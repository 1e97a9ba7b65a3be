// ReadWindow: how much is asked for ahead, on slow and fast links.
#include "store/read_window.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>

namespace ers::store {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kBlock = 50'000;
constexpr std::size_t kPiece = 10'000;

// A link that brings so much in each microsecond, `travel` after it was asked
// for. How much the window lets be on its way after a third of all.
std::size_t AheadOn(std::size_t bytes_a_us, net::Duration travel,
                    std::size_t blocks) {
  ReadWindow window(blocks * kBlock);
  std::size_t asked = 0;
  std::size_t came = 0;
  net::TimePoint now{};
  const auto ask = [&] {
    while (asked < blocks * kBlock && window.IsOpen()) {
      window.Asked(kBlock);
      asked += kBlock;
    }
  };
  ask();
  now += travel;
  window.Travelled(travel);
  while (came < blocks * kBlock / 3) {
    window.Came(kPiece, now);
    came += kPiece;
    ask();
    now += microseconds(kPiece / bytes_a_us);
  }
  return asked - came;
}

TEST_CASE("before the link is known a part of all is asked for") {
  ReadWindow window(40 * kBlock);
  std::size_t asked = 0;
  for (; window.IsOpen(); asked += kBlock) window.Asked(kBlock);
  CHECK(asked == 10 * kBlock);
}

TEST_CASE("little is asked for ahead on a slow link") {
  // 200 Mbit/s: 25 bytes a microsecond; twice 0.5 ms bring 25,000.
  const std::size_t ahead = AheadOn(25, microseconds(200), 40);
  CHECK(ahead >= 25'000 - kPiece);
  CHECK(ahead <= 25'000 + kBlock);
}

TEST_CASE("as much as the link brings meanwhile where requests travel long") {
  // Twice 4 ms bring 200,000.
  const std::size_t ahead = AheadOn(25, microseconds(4000), 60);
  CHECK(ahead >= 200'000 - kPiece);
  CHECK(ahead <= 200'000 + kBlock);
}

TEST_CASE("a fast link has no more than the part on its way") {
  const std::size_t ahead = AheadOn(1000, microseconds(200), 40);
  CHECK(ahead >= 40 * kBlock / 6);
  CHECK(ahead <= 40 * kBlock / 4);
}

// Such as when one server, that is slow, has yet to send the rest of a step.
TEST_CASE("one more is asked for where less comes than the link can bring") {
  ReadWindow window(40 * kBlock);
  net::TimePoint now{};
  for (int i = 0; i < 8; ++i) window.Asked(kBlock);
  const auto come = [&](std::size_t bytes_a_us) {
    now += microseconds(kPiece / bytes_a_us);
    window.Came(kPiece, now);
  };
  for (int i = 0; i < 20; ++i) come(25);
  REQUIRE_FALSE(window.IsOpen());
  int pieces = 0;
  for (; pieces < 10 && !window.IsOpen(); ++pieces) come(5);
  CHECK(pieces > 0);
  CHECK(pieces < 4);
  window.Asked(kBlock);
  CHECK_FALSE(window.IsOpen());
}

TEST_CASE("what came and is asked for again is on its way again") {
  ReadWindow window(2 * kBlock);
  window.Asked(kBlock);
  window.Asked(kBlock);
  CHECK_FALSE(window.IsOpen());
  window.Came(2 * kPiece, net::TimePoint{});
  CHECK(window.IsOpen());
  window.AskedAgain(2 * kPiece);
  CHECK_FALSE(window.IsOpen());
}

}  // namespace
}  // namespace ers::store
