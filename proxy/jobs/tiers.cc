#include "jobs/tiers.h"

namespace ers::proxy {

std::optional<Width> TierWidth(std::span<const Tier> tiers,
                               const Scheme& scheme, Width now,
                               std::uint64_t reached, TierDirection direction) {
  if (!scheme.elastic()) return std::nullopt;
  std::optional<Width> to;
  for (const Tier& tier : tiers) {
    if (tier.from > reached) break;
    const std::optional<Width> named = WidthNamed(scheme, tier.width);
    if (named) to = named;
  }
  if (!to) return std::nullopt;
  const int before = StripeDataBlocks(scheme, now);
  const int after = StripeDataBlocks(scheme, *to);
  const bool goes =
      direction == TierDirection::kWider ? after > before : after < before;
  return goes ? to : std::nullopt;
}

}  // namespace ers::proxy
