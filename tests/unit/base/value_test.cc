#include "ers/value.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <utility>
#include <vector>

namespace ers {
namespace {

TEST_CASE("a value keeps its memory while it need not grow") {
  Value value;
  CHECK(value.size() == 0);
  CHECK(value.text().empty());
  REQUIRE(value.Resize(100));
  std::memset(value.data(), 'x', 100);
  const std::byte* const memory = value.data();
  REQUIRE(value.Resize(10));
  CHECK(value.data() == memory);
  CHECK(value.text() == "xxxxxxxxxx");
  REQUIRE(value.Resize(100));
  CHECK(value.data() == memory);
  REQUIRE(value.Resize(0));
  CHECK(value.size() == 0);
  REQUIRE(value.Resize(1000));
  std::memset(value.data(), 'y', 1000);
  CHECK(value.bytes().size() == 1000);
}

TEST_CASE("moving a value moves its memory") {
  Value first;
  REQUIRE(first.Resize(3));
  std::memcpy(first.data(), "abc", 3);
  Value second(std::move(first));
  CHECK(second.text() == "abc");
  // What is left of a value moved from is part of what is tested.
  // NOLINTNEXTLINE(bugprone-use-after-move)
  CHECK(first.size() == 0);
  Value third;
  third = std::move(second);
  CHECK(third.text() == "abc");
  // The same for a value moved by assignment.
  // NOLINTNEXTLINE(bugprone-use-after-move)
  CHECK(second.size() == 0);
}

TEST_CASE("a value in the caller's memory takes what it is given") {
  std::byte memory[100];
  std::vector<std::size_t> asked;
  Value value([&](std::size_t bytes) -> std::byte* {
    asked.push_back(bytes);
    return bytes > sizeof memory ? nullptr : memory;
  });
  CHECK(value.has_memory());
  REQUIRE(value.Resize(0));
  REQUIRE(value.Resize(100));
  REQUIRE(value.Resize(100));
  CHECK(value.data() == memory);
  REQUIRE(value.Resize(10));
  CHECK(value.size() == 10);
  CHECK_FALSE(value.Resize(101));
  CHECK(value.size() == 0);
  CHECK_FALSE(value.Resize(101));
  REQUIRE(value.Resize(0));
  CHECK(asked == std::vector<std::size_t>{100, 10, 101, 101});

  REQUIRE(value.Resize(3));
  Value moved(std::move(value));
  CHECK(moved.data() == memory);
  CHECK(moved.size() == 3);
  value = std::move(moved);  // and none of them frees it
  CHECK(value.data() == memory);
}

}  // namespace
}  // namespace ers
