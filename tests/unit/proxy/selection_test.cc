// Which objects a job takes.
#include "jobs/selection.h"

#include <catch2/catch.hpp>
#include <memory>

namespace ers::proxy {
namespace {

constexpr std::int64_t kNowUs = 1'000'000'000'000;
constexpr std::int64_t kNowS = kNowUs / 1'000'000;

store::ListedObject Object(std::int64_t last_access, std::int64_t changed_us) {
  store::Manifest manifest;
  manifest.id.time_us = static_cast<std::uint64_t>(changed_us);
  return {std::make_shared<const store::Manifest>(manifest), last_access};
}

TEST_CASE("idle and age are met on the second") {
  Selection select;
  CHECK(select.TakesTimes(Object(kNowS, kNowUs), kNowUs));
  // A server's clock may be ahead.
  CHECK(select.TakesTimes(Object(kNowS + 5, kNowUs + 5), kNowUs));
  select.idle_seconds = 10;
  CHECK(select.TakesTimes(Object(kNowS - 10, kNowUs), kNowUs));
  CHECK_FALSE(select.TakesTimes(Object(kNowS - 9, 0), kNowUs));
  CHECK_FALSE(select.TakesTimes(Object(kNowS + 9, 0), kNowUs));
  select.age_seconds = 20;
  CHECK(select.TakesTimes(Object(0, kNowUs - 20'000'000), kNowUs));
  CHECK_FALSE(select.TakesTimes(Object(0, kNowUs - 19'999'999), kNowUs));
}

TEST_CASE("prefix and pattern must both hold, for any bytes") {
  Selection select;
  select.prefix = std::string("\0\xff", 2);
  CHECK(select.TakesKey(std::string_view("\0\xff\n", 3)));
  CHECK_FALSE(select.TakesKey("a"));
  select.pattern = ".*b";
  select.compiled = KeyPattern::Regex(select.pattern).value();
  CHECK_FALSE(select.TakesKey(std::string_view("\0\xff\n", 3)));
  CHECK(select.TakesKey(std::string_view("\0\xff\nb", 4)));
  CHECK_FALSE(select.TakesKey("b"));
}

TEST_CASE("what a transition would do") {
  store::Manifest manifest;
  manifest.scheme = ParseScheme("ers2:4,1,5").value();
  const auto need = [&](std::string_view to) {
    return NeedOf(manifest, ParseTransitionTarget(to).value());
  };
  CHECK(need("narrow") == Need::kNothing);
  CHECK(need("wide") == Need::kChange);
  CHECK(need("ers2:4,1,5") == Need::kNothing);
  CHECK(need("rs:4,1") == Need::kChange);
  manifest.width = Width::kWide;
  CHECK(need("wide") == Need::kNothing);
  CHECK(need("narrow") == Need::kChange);
  // A scheme with the same data blocks leaves the width alone.
  CHECK(need("ers2:4,1,5") == Need::kNothing);
  CHECK(need("ers2:4,2,5") == Need::kChange);
  CHECK(need("ers1:4,1,5") == Need::kChange);
  CHECK(need("wide,1") == Need::kNothing);
  CHECK(need("wide,2") == Need::kChange);
  CHECK(need("narrow,1") == Need::kChange);
  CHECK(need("same,1") == Need::kNothing);
  CHECK(need("same,2") == Need::kChange);
  manifest.scheme = ParseScheme("rs:4,1").value();
  manifest.width = Width::kNarrow;
  CHECK(need("wide") == Need::kImpossible);
  CHECK(need("narrow") == Need::kImpossible);
  CHECK(need("rs:4,1") == Need::kNothing);
  CHECK(need("4") == Need::kImpossible);
  CHECK(need("4,2") == Need::kImpossible);
  CHECK(need("same,2") == Need::kChange);
  manifest.scheme = ParseScheme("ers:4-6-12,1").value();
  manifest.width = Width::kSecond;
  CHECK(need("6") == Need::kNothing);
  CHECK(need("4") == Need::kChange);
  CHECK(need("12") == Need::kChange);
  CHECK(need("wide") == Need::kChange);
  CHECK(need("5") == Need::kImpossible);
  CHECK(need("ers:4-6-12,2") == Need::kChange);
  CHECK(need("ers:4-6-12,1") == Need::kNothing);
  CHECK(need("ers:4-8-12,1") == Need::kChange);
}

}  // namespace
}  // namespace ers::proxy
