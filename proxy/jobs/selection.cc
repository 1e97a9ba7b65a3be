#include "jobs/selection.h"

namespace ers::proxy {
namespace {

constexpr std::int64_t kMicros = 1'000'000;

}  // namespace

bool Selection::TakesTimes(const store::ListedObject& object,
                           std::int64_t now_us) const {
  const std::int64_t idle_s = now_us / kMicros - object.last_access;
  const auto changed_us =
      static_cast<std::int64_t>(object.manifest->id.time_us);
  return (idle_seconds == 0 || idle_s >= idle_seconds) &&
         (age_seconds == 0 || now_us - changed_us >= age_seconds * kMicros);
}

Need NeedOf(const store::Manifest& manifest, const TransitionTarget& target) {
  const Scheme scheme = target.scheme.value_or(manifest.scheme);
  if (target.width && !scheme.elastic()) return Need::kImpossible;
  const Width width = target.width.value_or(Width::kNarrow);
  return scheme == manifest.scheme && width == manifest.width ? Need::kNothing
                                                              : Need::kChange;
}

}  // namespace ers::proxy
