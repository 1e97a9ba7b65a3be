#include "store/change_id.h"

#include <fmt/format.h>

#include <algorithm>

namespace ers::store {

std::string FormatChangeId(const ChangeId& id) {
  return fmt::format("{:016x}{:016x}", id.time_us, id.nonce);
}

ChangeIdSource::ChangeIdSource(net::Runtime& runtime)
    : runtime_(runtime), nonce_(runtime.Random() | 1) {}

ChangeId ChangeIdSource::Next() {
  last_us_ =
      std::max(last_us_ + 1, static_cast<std::uint64_t>(runtime_.WallMicros()));
  return {last_us_, nonce_};
}

}  // namespace ers::store
