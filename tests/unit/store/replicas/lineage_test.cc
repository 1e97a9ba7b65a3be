#include "store/replicas/lineage.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

namespace ers::store {
namespace {

// One change after the other, of these makers.
Manifest After(Manifest manifest, const std::vector<std::uint64_t>& makers) {
  for (const std::uint64_t maker : makers) {
    manifest.history = HistoryAfter(manifest.id ? &manifest : nullptr);
    manifest.id = {manifest.id.time_us + 1, maker};
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

TEST_CASE("what was not done is known by what came before") {
  const Manifest base = After({}, {3, 1, 2, 1});
  const ChangeId mine = {1000, 3};
  const std::vector<std::uint64_t> others(1000, 1);
  CHECK(Happened(mine, &base, base) == false);
  CHECK(Happened(mine, &base, After(base, {1, 2, 1})) == false);
  // By the change that this maker made before.
  CHECK(Happened(mine, &base, After(base, others)) == false);
}

TEST_CASE("what nothing shows is not known") {
  const Manifest base = After({}, {1});
  const std::vector<std::uint64_t> others(20, 1);
  const ChangeId mine = {1000, 3};
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
