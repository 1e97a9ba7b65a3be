#include "store/support/content.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "unit/net/fake_runtime.h"

namespace ers::store {
namespace {

using Bytes = std::span<const std::byte>;

std::string Text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string Take(Content& content, std::size_t max_bytes) {
  test::FakeRuntime runtime;
  const auto bytes = net::SyncWait(runtime, content.Next(max_bytes));
  return bytes ? Text(*bytes) : "error: " + bytes.error().message();
}

std::string Peek(Content& content, std::size_t max_bytes) {
  test::FakeRuntime runtime;
  const auto bytes = net::SyncWait(runtime, content.Peek(max_bytes));
  return bytes ? Text(*bytes) : "error: " + bytes.error().message();
}

// Gives `text` in pieces of at most `piece` bytes, then the end; asked again
// it fails the test.
Source Pieces(std::string text, std::size_t piece) {
  return [text = std::move(text), piece, at = std::size_t{0},
          ended = false](std::span<std::byte> into) mutable {
    REQUIRE_FALSE(ended);
    REQUIRE_FALSE(into.empty());
    const std::size_t count = std::min({piece, into.size(), text.size() - at});
    std::transform(text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(at + count),
                   into.begin(), [](char c) { return std::byte(c); });
    at += count;
    ended = count == 0;
    return Result<std::size_t>(count);
  };
}

std::vector<std::byte> Prefix(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(),
                 [](char c) { return std::byte(c); });
  return bytes;
}

TEST_CASE("bytes in memory are handed out without a copy") {
  const std::string text = "abcdefgh";
  MemoryContent content(std::as_bytes(std::span(text)));
  CHECK(content.Left() == 8);
  test::FakeRuntime runtime;
  const auto first = net::SyncWait(runtime, content.Next(5));
  REQUIRE(first.has_value());
  CHECK(first->data() == std::as_bytes(std::span(text)).data());
  CHECK(Text(*first) == "abcde");
  CHECK(content.Left() == 3);
  CHECK(Take(content, 5) == "fgh");
  CHECK(Take(content, 5).empty());
}

TEST_CASE("a source that gives little at a time still fills whole groups") {
  for (std::size_t piece = 1; piece < 9; ++piece) {
    CAPTURE(piece);
    const Source source = Pieces("abcdefgh", piece);
    SourceContent content(source);
    CHECK_FALSE(content.Left().has_value());
    CHECK(Take(content, 3) == "abc");
    CHECK(Take(content, 3) == "def");
    CHECK(Take(content, 3) == "gh");
    CHECK(Take(content, 3).empty());
  }
}

TEST_CASE("a part's memory is known before its bytes are there") {
  const Source source = Pieces("abcdefgh", 2);
  SourceContent content(source, Prefix("xyz"));
  test::FakeRuntime runtime;
  const auto part = content.Open(8);
  REQUIRE(part.has_value());
  REQUIRE(part->size() == 8);
  std::string seen;
  for (const std::size_t there : {3, 5, 7, 8}) {
    CHECK(net::SyncWait(runtime, content.Fill()) == there);
    CHECK(Text(part->first(there)).starts_with(seen));
    seen = Text(part->first(there));
  }
  CHECK(seen == "xyzabcde");
  // Full: nothing is asked of the source.
  CHECK(net::SyncWait(runtime, content.Fill()) == 8);
  content.Release();
  const auto last = content.Open(8);
  REQUIRE(last.has_value());
  for (const std::size_t there : {2, 3, 3, 3}) {
    CHECK(net::SyncWait(runtime, content.Fill()) == there);
  }
  CHECK(Text(last->first(3)) == "fgh");
}

TEST_CASE("a part that cannot be filled is there until it is released") {
  int calls = 0;
  const Source source =
      [&calls](std::span<std::byte> into) -> Result<std::size_t> {
    if (++calls == 2) return Fail(StatusCode::kUnavailable, "disk gone");
    into[0] = std::byte('a');
    return std::size_t{1};
  };
  SourceContent content(source);
  test::FakeRuntime runtime;
  const auto part = content.Open(4);
  REQUIRE(part.has_value());
  CHECK(net::SyncWait(runtime, content.Fill()) == 1);
  CHECK_FALSE(net::SyncWait(runtime, content.Fill()).has_value());
  CHECK(Text(part->first(1)) == "a");
  content.Release();
}

TEST_CASE("any mix of peeks and takes gives the prefix and the source") {
  const std::string all = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (unsigned seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t cut = random() % all.size();
    const Source source = Pieces(all.substr(cut), 1 + random() % 7);
    SourceContent content(source, Prefix(all.substr(0, cut)));
    std::size_t at = 0;
    while (at < all.size()) {
      const std::size_t max_bytes = 1 + random() % 10;
      if (random() % 2 == 0) {
        REQUIRE(Peek(content, max_bytes) == all.substr(at, max_bytes));
      } else {
        REQUIRE(Take(content, max_bytes) == all.substr(at, max_bytes));
        at += max_bytes;
        if (random() % 2 == 0) content.Release();
      }
    }
    REQUIRE(Peek(content, 5).empty());
    REQUIRE(Take(content, 5).empty());
  }
}

TEST_CASE("what was taken stays valid while more is taken") {
  const Source source = Pieces("abcdefghi", 2);
  SourceContent content(source);
  test::FakeRuntime runtime;
  const auto first = net::SyncWait(runtime, content.Next(3));
  const auto second = net::SyncWait(runtime, content.Next(3));
  CHECK(Text(*first) == "abc");
  CHECK(Text(*second) == "def");
  content.Release();
  CHECK(Take(content, 3) == "ghi");
  CHECK(Text(*second) == "def");
}

TEST_CASE("a source's error comes through, with nothing made up") {
  int calls = 0;
  const Source source = [&calls](std::span<std::byte>) -> Result<std::size_t> {
    if (++calls == 1) return std::size_t{1};
    return Fail(StatusCode::kUnavailable, "disk gone");
  };
  SourceContent content(source);
  CHECK(Take(content, 4) == "error: disk gone");
  calls = 0;
  SourceContent peeked(source);
  CHECK(Peek(peeked, 4) == "error: disk gone");
}

TEST_CASE("a source that claims too much is refused") {
  const Source source = [](std::span<std::byte> into) {
    return Result<std::size_t>(into.size() + 1);
  };
  SourceContent content(source);
  CHECK_THAT(Take(content, 4), Catch::Contains("error: the source says"));
}

}  // namespace
}  // namespace ers::store
