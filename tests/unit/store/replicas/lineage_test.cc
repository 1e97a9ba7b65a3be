#include "store/replicas/lineage.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace ers::store {
namespace {

// Its number among makers.
std::uint64_t Of(std::uint64_t maker) { return maker << (kMakerBits - 16); }

// One change after the other, of these makers.
Manifest After(Manifest manifest, const std::vector<std::uint64_t>& makers) {
  for (const std::uint64_t maker : makers) {
    Manifest next = manifest;
    next.id = {manifest.id.time_us + 1, Of(maker)};
    next.history = HistoryAfter(manifest.id ? &manifest : nullptr, next);
    manifest = std::move(next);
  }
  return manifest;
}

TEST_CASE("a manifest remembers the last eight changes before it") {
  const Manifest first = After({}, {1});
  CHECK(first.history.empty());
  const Manifest now = After(first, {1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(now.history.size() == kHistoryLength);
  CHECK(now.Remembers(first.id));
  CHECK_FALSE(After(now, {1}).Remembers(first.id));
}

TEST_CASE("the last change of each maker is remembered longest") {
  const Manifest base = After({}, {1, 2, 2, 1, 2});
  const Manifest mine = After(base, {3});
  const std::vector<std::uint64_t> others(1000, 1);
  const Manifest now = After(mine, others);
  CHECK(now.history.size() == kHistoryLength);
  CHECK(now.Remembers(mine.id));
  CHECK(Happened(mine.id, &base, now) == true);
  // Maker 2 has made none since.
  CHECK(now.Remembers(base.id));
}

// Each tag takes 3 bytes here: the change before is 1 us away.
TEST_CASE("with its value in it a manifest remembers what has room") {
  Manifest base;
  base.is_inline = true;
  const Manifest now = After(base, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(HistoryBytes(now.id, now.history) <= kInlineHistoryBytes);
  CHECK(now.history.size() == 3);
  CHECK(now.Remembers({7, Of(7)}));
  CHECK_FALSE(now.Remembers({4, Of(4)}));
  // By one maker's last ones the others' are not pushed out.
  const Manifest by_one = After(now, {8, 8, 8, 8, 8});
  CHECK(by_one.Remembers({6, Of(6)}));
  CHECK(by_one.Remembers({7, Of(7)}));
  // What it was made over, always.
  Manifest next = now;
  next.id = {std::uint64_t{1} << 55, Of(9)};
  next.history = HistoryAfter(&now, next);
  CHECK(next.history == std::vector<ChangeTag>{now.id.tag()});
}

TEST_CASE("what was not done is known by what came before") {
  const Manifest base = After({}, {3, 1, 2, 1});
  const ChangeId mine = {1000, Of(3)};
  const std::vector<std::uint64_t> others(1000, 1);
  CHECK(Happened(mine, &base, base) == false);
  CHECK(Happened(mine, &base, After(base, {1, 2, 1})) == false);
  // By the change that this maker made before.
  CHECK(Happened(mine, &base, After(base, others)) == false);
}

TEST_CASE("what nothing shows is not known") {
  const Manifest base = After({}, {1});
  const std::vector<std::uint64_t> others(20, 1);
  const ChangeId mine = {1000, Of(3)};
  CHECK(Happened(mine, &base, After(base, others)) == std::nullopt);
  // The key was forgotten in between.
  const Manifest anew = After({}, {4, 5});
  CHECK(Happened(mine, &base, anew) == std::nullopt);
  CHECK(Happened(mine, nullptr, base) == std::nullopt);
  // Another change of this maker may have displaced it.
  CHECK(Happened(mine, &base, After(base, {3})) == std::nullopt);
}

}  // namespace
}  // namespace ers::store
