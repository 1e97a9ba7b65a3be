#include "store/format/change_id.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/format/planted_bug.h"

namespace ers::store {

std::string FormatChangeId(const ChangeId& id) {
  return fmt::format("{:016x}{:016x}", id.time_us, id.nonce);
}

ChangeIdSource::ChangeIdSource(net::Runtime& runtime, const ClusterClock& clock)
    : runtime_(runtime),
      clock_(clock),
      maker_(ChangeId{0, runtime.Random() | 1}.maker()) {}

ChangeId ChangeIdSource::Next(FlushMark mark) {
  const std::uint64_t nonce = std::uint64_t{mark} << kMakerBits | maker_;
  if (Planted(PlantedBug::kGenerationTwice) && last_us_ != 0 &&
      runtime_.Random() % 4 == 0) {
    return {last_us_, nonce};
  }
  last_us_ = std::max(last_us_ + 1,
                      static_cast<std::uint64_t>(clock_.Micros(runtime_)));
  return {last_us_, nonce};
}

}  // namespace ers::store
