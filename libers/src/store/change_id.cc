#include "store/change_id.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/planted_bug.h"

namespace ers::store {

std::string FormatChangeId(const ChangeId& id) {
  return fmt::format("{:016x}{:016x}", id.time_us, id.nonce);
}

ChangeIdSource::ChangeIdSource(net::Runtime& runtime)
    : runtime_(runtime), nonce_(runtime.Random() | 1) {}

ChangeId ChangeIdSource::Next() {
  if (Planted(PlantedBug::kGenerationTwice) && last_us_ != 0 &&
      runtime_.Random() % 4 == 0) {
    return {last_us_, nonce_};
  }
  last_us_ =
      std::max(last_us_ + 1, static_cast<std::uint64_t>(runtime_.WallMicros()));
  return {last_us_, nonce_};
}

}  // namespace ers::store
