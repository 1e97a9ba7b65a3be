#include "jobs/selection.h"

#include <optional>

#include "base/micros.h"
#include "store/objects/destination.h"

namespace ers::proxy {

bool Selection::TakesTimes(const store::ListedObject& object,
                           std::int64_t now_us) const {
  const std::int64_t idle_s = now_us / kMicrosPerSecond - object.last_access;
  const auto changed_us =
      static_cast<std::int64_t>(object.manifest->id.time_us);
  return (idle_seconds == 0 || idle_s >= idle_seconds) &&
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
