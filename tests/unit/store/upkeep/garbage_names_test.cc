#include "store/upkeep/garbage_names.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "store/format/keys.h"

namespace ers::store {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

FoundBlock Block(const KeyHash& hash, std::uint64_t number) {
  return {{hash, {1, 1}, number}, 0, 100};
}

TEST_CASE("blocks come together with the manifests of their hash") {
  GarbageNames names(0, 1 << 20);
  names.Add(Block({7, 1}, 0));
  names.Add(FoundManifest{{7, 2}, "b"});
  names.Add(Block({7, 2}, 5));
  names.Add(FoundManifest{{9, 9}, "no blocks"});
  names.Add(Block({3, 3}, 1));
  names.Add(FoundManifest{{7, 2}, "b"});  // another replica's
  names.Add(Block({7, 2}, 6));
  const auto groups = names.Groups();
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].blocks.size() == 1);
  CHECK(groups[0].blocks[0].name.number == 1);
  CHECK(groups[0].manifests.empty());
  CHECK(groups[1].blocks.size() == 1);
  CHECK(groups[1].manifests.empty());
  CHECK(groups[2].blocks.size() == 2);
  REQUIRE(groups[2].manifests.size() == 1);
  CHECK(groups[2].manifests[0].item_key == "b");
  CHECK(groups[3].blocks.empty());
  REQUIRE(groups[3].manifests.size() == 1);
  CHECK(groups[3].manifests[0].item_key == "no blocks");
  CHECK(names.last() == kEnd);
}

TEST_CASE("round after round all hashes come up, each once") {
  constexpr int kKeys = 5000;
  std::multiset<std::string> seen;
  int rounds = 0;
  for (std::uint64_t first = 0;;) {
    constexpr std::size_t kMax = 40'000;
    GarbageNames names(first, kMax);
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = fmt::format("key{}", i);
      const KeyHash hash = HashKey(key);
      if (names.Covers(hash)) names.Add(Block(hash, 0));
      if (names.Covers(hash)) names.Add(FoundManifest{hash, key});
    }
    ++rounds;
    std::size_t bytes = 0;
    for (const auto& group : names.Groups()) {
      REQUIRE(group.manifests.size() == 1);
      seen.insert(group.manifests[0].item_key);
      bytes += sizeof(FoundBlock) + sizeof(FoundManifest);
    }
    CHECK(bytes <= kMax);
    if (names.last() == kEnd) break;
    REQUIRE(names.last() >= first);
    first = names.last() + 1;
  }
  CHECK(seen.size() == kKeys);
  CHECK(std::set<std::string>(seen.begin(), seen.end()).size() == kKeys);
  CHECK(rounds > 10);
  CHECK(rounds < 100);
}

TEST_CASE("one hash is never parted, however much it has") {
  GarbageNames names(0, 100);
  for (std::uint64_t i = 0; i < 100; ++i) {
    if (names.Covers({0, 5})) names.Add(Block({0, 5}, i));
    if (names.Covers({kEnd, 5})) names.Add(Block({kEnd, 5}, i));
  }
  const auto groups = names.Groups();
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].blocks.size() == 100);
  CHECK(names.last() < kEnd);
}

}  // namespace
}  // namespace ers::store
