#include "jobs/tiers.h"

namespace ers::proxy {

std::optional<TransitionTarget> TierTarget(std::span<const Tier> tiers,
                                           const Scheme& scheme, Width now,
                                           std::uint64_t reached,
                                           TierDirection direction) {
  if (!scheme.elastic()) return std::nullopt;
  TransitionTarget to;
  for (const Tier& tier : tiers) {
    if (tier.from > reached) break;
    const std::optional<Width> named = WidthNamed(scheme, tier.width);
    if (!named) continue;
    to.width = named;
    to.parity_blocks = tier.m > 0 ? std::optional(tier.m) : std::nullopt;
  }
  if (!to.width) return std::nullopt;
  const int before = StripeDataBlocks(scheme, now);
  const int after = StripeDataBlocks(scheme, *to.width);
  const bool goes =
      direction == TierDirection::kWider ? after > before : after < before;
  return goes ? std::optional(to) : std::nullopt;
}

}  // namespace ers::proxy
