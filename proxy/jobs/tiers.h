// Tiers: to which width of its scheme, and which m, a policy takes an object.
#ifndef ERS_PROXY_JOBS_TIERS_H_
#define ERS_PROXY_JOBS_TIERS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "config/policies.h"
#include "ers/options.h"
#include "ers/scheme.h"

namespace ers::proxy {

enum class TierDirection : std::uint8_t { kWider, kNarrower };

// The width, and the m if it says one, of the last tier that `reached` has come
// to and whose width the scheme has. nullopt: there is none, or an object at
// `now` would not go in that direction. Tiers ascend by `from`; `now` is one of
// the scheme's widths.
std::optional<TransitionTarget> TierTarget(std::span<const Tier> tiers,
                                           const Scheme& scheme, Width now,
                                           std::uint64_t reached,
                                           TierDirection direction);

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_TIERS_H_
