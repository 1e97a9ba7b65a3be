#include "jobs/selection.h"

#include <optional>

#include "base/micros.h"
#include "store/objects/destination.h"

namespace ers::proxy {

std::int64_t IdleSeconds(const store::ListedObject& object,
                         std::int64_t now_us) {
  return now_us / kMicrosPerSecond - object.last_access;
}

bool Selection::TakesTimes(const store::ListedObject& object,
                           std::int64_t now_us) const {
  const auto changed_us =
      static_cast<std::int64_t>(object.manifest->id.time_us);
  return (idle_seconds == 0 || IdleSeconds(object, now_us) >= idle_seconds) &&
         (age_seconds == 0 ||
          now_us - changed_us >= age_seconds * kMicrosPerSecond);
}

Need NeedOf(const store::Manifest& manifest, const TransitionTarget& target) {
  const std::optional<store::Destination> to =
      store::DestinationOf(manifest, target);
  if (!to) return Need::kImpossible;
  return store::IsThere(manifest, *to) ? Need::kNothing : Need::kChange;
}

}  // namespace ers::proxy
