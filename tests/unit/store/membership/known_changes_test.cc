#include "store/membership/known_changes.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

namespace ers::store {
namespace {

ChangeId Change(std::uint64_t number) { return {number, 1}; }

std::unique_ptr<KeptTokens> Kept(const std::string& key, std::uint64_t change) {
  auto manifest = std::make_shared<Manifest>();
  manifest->key = key;
  manifest->id = Change(change);
  auto kept = std::make_unique<KeptTokens>();
  kept->manifest = std::move(manifest);
  return kept;
}

TEST_CASE("the last change of each key is known, and no other") {
  KnownChanges known;
  known.Add("a", Change(1));
  known.Add("b", Change(2));
  known.Add("a", Change(3));
  known.Add("c", ChangeId());
  CHECK(known.Has("a", Change(3)));
  CHECK(known.Has("b", Change(2)));
  CHECK_FALSE(known.Has("a", Change(1)));
  CHECK_FALSE(known.Has("a", Change(2)));
  CHECK_FALSE(known.Has("c", ChangeId()));
}

TEST_CASE("tokens are of the change that is known, and taken once") {
  KnownChanges known;
  known.Keep(Kept("a", 1));
  CHECK(known.Take("a") == nullptr);
  known.Add("a", Change(1));
  known.Keep(Kept("a", 1));
  known.Add("a", Change(1));
  CHECK(known.Take("b") == nullptr);
  CHECK(known.Take("a") != nullptr);
  CHECK(known.Take("a") == nullptr);
  known.Keep(Kept("a", 1));
  known.Add("a", Change(2));
  CHECK(known.Take("a") == nullptr);
}

// Half as many keys as there is room for: few share a set with four others.
TEST_CASE("keys forget each other only where there is no room") {
  constexpr int kKeys = 16384;
  KnownChanges known;
  const auto key = [](int number) { return "key" + std::to_string(number); };
  const auto change = [](int number) {
    return Change(static_cast<std::uint64_t>(number + 1));
  };
  for (int i = 0; i < kKeys; ++i) known.Add(key(i), change(i));
  int kept = 0;
  for (int i = 0; i < kKeys; ++i) kept += known.Has(key(i), change(i)) ? 1 : 0;
  CHECK(kept > kKeys * 9 / 10);
  for (int i = kKeys; i < 10 * kKeys; ++i) known.Add(key(i), change(i));
  int forgotten = 0;
  for (int i = 0; i < kKeys; ++i) {
    forgotten += known.Has(key(i), change(i)) ? 0 : 1;
  }
  CHECK(forgotten > kKeys * 9 / 10);
}

}  // namespace
}  // namespace ers::store
