#include "store/format/change_id.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "store/format/planted_bug.h"

namespace ers::store {

std::string FormatChangeId(const ChangeId& id) {
  // Of each object that is read or stored: a formatter takes ten times as long.
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::size_t kHalf = 16;
  std::string text(2 * kHalf, '0');
  for (std::size_t i = 0; i < kHalf; ++i) {
    const auto shift = 4 * (kHalf - 1 - i);
    text[i] = kDigits[id.time_us >> shift & 0xf];
    text[kHalf + i] = kDigits[id.nonce >> shift & 0xf];
  }
  return text;
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
