#include "jobs/tiers.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ers::proxy {
namespace {

Scheme Parse(const char* text) { return ParseScheme(text).value(); }

// Blocks of a stripe after it; 0: it stays.
int Goes(const std::vector<Tier>& tiers, const char* scheme, int now,
         std::uint64_t reached, TierDirection direction) {
  const Scheme parsed = Parse(scheme);
  const Width width = WidthNamed(parsed, std::to_string(now)).value();
  const std::optional<TransitionTarget> to =
      TierTarget(tiers, parsed, width, reached, direction);
  return to ? StripeDataBlocks(parsed, to->width.value()) : 0;
}

TEST_CASE("an object goes to the last tier it has come to, never back") {
  const std::vector<Tier> widen = {{10, "4"}, {20, "wide"}};
  const std::vector<Tier> narrow = {{10, "4"}, {20, "narrow"}};
  for (const int now : {2, 4, 8}) {
    for (std::uint64_t reached = 0; reached <= 30; ++reached) {
      CAPTURE(now, reached);
      const int wider = reached < 10 ? 0 : reached < 20 ? 4 : 8;
      CHECK(Goes(widen, "ers:2-4-8,1", now, reached, TierDirection::kWider) ==
            (wider > now ? wider : 0));
      const int narrower = reached < 10 ? 8 : reached < 20 ? 4 : 2;
      CHECK(Goes(narrow, "ers:2-4-8,1", now, reached,
                 TierDirection::kNarrower) == (narrower < now ? narrower : 0));
    }
  }
}

TEST_CASE("a tier whose width the scheme lacks is skipped") {
  const std::vector<Tier> tiers = {{10, "4"}, {20, "6"}, {30, "wide"}};
  CHECK(Goes(tiers, "ers:2-4-8,1", 2, 25, TierDirection::kWider) == 4);
  CHECK(Goes(tiers, "ers:2-6-12,1", 2, 15, TierDirection::kWider) == 0);
  CHECK(Goes(tiers, "ers:2-6-12,1", 2, 25, TierDirection::kWider) == 6);
  CHECK(Goes(tiers, "ers2:4,1,5", 4, 25, TierDirection::kWider) == 0);
  CHECK(Goes(tiers, "ers2:4,1,5", 4, 30, TierDirection::kWider) == 5);
}

TEST_CASE("m goes with the width of its tier, and with no other") {
  const std::vector<Tier> tiers = {{10, "4", 1}, {20, "wide", 2}};
  const Scheme scheme = Parse("ers:2-4-8,1");
  const auto m = [&](std::uint64_t reached) {
    return TierTarget(tiers, scheme, Width::kNarrow, reached,
                      TierDirection::kWider)
        ->parity_blocks;
  };
  CHECK(m(10) == 1);
  CHECK(m(20) == 2);
  CHECK_FALSE(TierTarget({{{10, "4", 1}, {20, "wide"}}}, scheme, Width::kNarrow,
                         20, TierDirection::kWider)
                  ->parity_blocks.has_value());
  // It is no reason to go anywhere.
  CHECK_FALSE(TierTarget(tiers, scheme, Width::kWide, 20, TierDirection::kWider)
                  .has_value());
}

TEST_CASE("no tier moves what is not elastic, and no tiers move nothing") {
  const std::vector<Tier> tiers = {{0, "wide"}};
  CHECK_FALSE(TierTarget(tiers, Parse("rs:4,1"), Width::kNarrow, 5,
                         TierDirection::kWider));
  CHECK(Goes({}, "ers:2-4-8,1", 2, 99, TierDirection::kWider) == 0);
}

}  // namespace
}  // namespace ers::proxy
