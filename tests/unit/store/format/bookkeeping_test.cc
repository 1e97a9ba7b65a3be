// The small parts: generation map, change ids, manifest cache, expiry.
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/format/change_id.h"
#include "store/format/expiry.h"
#include "store/format/generation_map.h"
#include "store/membership/manifest_cache.h"
#include "unit/store/support/test_clock.h"

namespace ers::store {
namespace {

void CheckSame(const GenerationMap& map, const std::vector<ChangeId>& model) {
  REQUIRE(map.size() == model.size());
  std::size_t runs = 0;
  for (std::uint32_t i = 0; i < map.size(); ++i) {
    REQUIRE(map.at(i) == model[i]);
    runs += i == 0 || model[i] != model[i - 1] ? 1 : 0;
  }
  REQUIRE(map.runs().size() == runs);  // none empty, none that could be joined
}

TEST_CASE("a generation map is a vector, only shorter") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t end) { return random() % end; };
    const auto id = [&below] { return ChangeId{below(3), 0}; };
    const std::uint32_t size = below(12);
    const ChangeId first = id();
    GenerationMap map(size, first);
    std::vector<ChangeId> model(size, first);
    for (int step = 0; step < 100; ++step) {
      const ChangeId generation = id();
      if (below(4) == 0) {
        const std::uint32_t to = below(20);
        map.Resize(to, generation);
        model.resize(to, generation);
      } else if (!model.empty()) {
        const auto at = below(static_cast<std::uint32_t>(model.size()));
        map.Set(at, generation);
        model[at] = generation;
      }
      CheckSame(map, model);
    }
  }
}

TEST_CASE("change ids rise, whatever the clock does") {
  test::TestClock clock;
  clock.wall_us = 1000;
  const ClusterClock unset(1);
  ChangeIdSource source(clock, unset);
  const ChangeId first = source.Next(0);
  CHECK(first.time_us == 1000);
  CHECK(first.nonce == 5);                // never 0, so that no id is "none"
  CHECK(source.Next(0).time_us == 1001);  // the clock stands still
  clock.wall_us = 10;                     // and goes back
  CHECK(source.Next(0).time_us == 1002);
  clock.wall_us = 5000;
  CHECK(source.Next(0).time_us == 5000);
  clock.random = 8;
  CHECK(ChangeIdSource(clock, unset).Next(0) == ChangeId{5000, 9});
  const ChangeId marked = source.Next(7);
  CHECK(marked.flush_mark() == 7);
  CHECK(marked.maker() == first.maker());
  CHECK(FormatChangeId({0x1a, 0x2b}) == "000000000000001a000000000000002b");
}

std::shared_ptr<const Manifest> Named(const std::string& key,
                                      std::uint64_t id = 1) {
  Manifest manifest;
  manifest.key = key;
  manifest.id = {id, 1};
  return std::make_shared<const Manifest>(manifest);
}

TEST_CASE("the manifest cache forgets what was longest unused") {
  ManifestCache cache(3);
  for (const char* key : {"a", "b", "c"}) cache.Insert(Named(key));
  CHECK(cache.Find("a") != nullptr);
  cache.Insert(Named("d"));
  CHECK(cache.Find("b") == nullptr);
  for (const char* key : {"a", "c", "d"}) {
    CAPTURE(key);
    REQUIRE(cache.Find(key) != nullptr);
    CHECK(cache.Find(key)->key == key);
  }
  cache.Insert(Named("c", 2));  // in place of the other: nothing goes
  CHECK(cache.Find("c")->id == ChangeId{2, 1});
  CHECK(cache.Find("a") != nullptr);
  CHECK(cache.Find("d") != nullptr);
  cache.Erase("a");
  cache.Erase("never there");
  CHECK(cache.Find("a") == nullptr);
  // A value that became small: nothing is left of its blocks.
  Manifest small = *Named("c", 3);
  small.is_inline = true;
  cache.Insert(std::make_shared<const Manifest>(small));
  CHECK(cache.Find("c") == nullptr);
}

TEST_CASE("the manifest cache keeps to its bound") {
  ManifestCache cache(16);
  for (int i = 0; i < 1000; ++i) cache.Insert(Named(std::to_string(i)));
  int kept = 0;
  for (int i = 0; i < 1000; ++i) {
    kept += cache.Find(std::to_string(i)) != nullptr ? 1 : 0;
  }
  CHECK(kept == 16);
  ManifestCache none(0);
  none.Insert(Named("a"));
  CHECK(none.Find("a") == nullptr);
}

TEST_CASE("an object expires at its second, not before") {
  CHECK_FALSE(IsExpired(0, 0));
  CHECK_FALSE(IsExpired(0, 4'000'000'000'000'000));
  CHECK_FALSE(IsExpired(100, 99'999'999));
  CHECK(IsExpired(100, 100'000'000));
  CHECK(IsExpired(100, 200'000'000));
}

TEST_CASE("items outlive their object by a minute") {
  constexpr std::int64_t kNow = 1'700'000'000;
  constexpr std::int64_t kNowUs = kNow * 1'000'000 + 999'999;
  constexpr std::int64_t kMonth = 60 * 60 * 24 * 30;
  CHECK(BlockExptime(0, kNowUs) == 0);
  // The last second that memcached's 32 bits can say, and the one behind it.
  CHECK(BlockExptime(2147483587, kNowUs) == 2147483647);
  CHECK(BlockExptime(2147483588, kNowUs) == 0);
  CHECK(BlockExptime(kNow + 10, kNowUs) == 70);
  // Expired already: memcached must not be sent 0, which is for ever.
  CHECK(BlockExptime(kNow - 1000, kNowUs) == 60);
  CHECK(BlockExptime(1, kNowUs) == 60);
  // Over 30 days memcached takes the number for a Unix time.
  CHECK(BlockExptime(kNow + kMonth - 60, kNowUs) == kMonth);
  CHECK(BlockExptime(kNow + kMonth - 59, kNowUs) == kNow + kMonth + 1);
  Manifest manifest;
  CHECK(ManifestExptime(manifest, kNowUs) == 0);
  manifest.expiry = kNow + 10;
  CHECK(ManifestExptime(manifest, kNowUs) == 70);
  manifest.tombstone = true;
  CHECK(ManifestExptime(manifest, kNowUs) == 120);
}

}  // namespace
}  // namespace ers::store
