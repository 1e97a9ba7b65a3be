#include "store/membership/touch_times.h"

#include "store/format/keys.h"

namespace ers::store {

int TouchTimes::Due(std::string_view key, bool again, net::TimePoint now,
                    net::Duration period) {
  slots_.resize(kSlots);
  const std::uint64_t hash = HashKey(key).low;
  Slot& slot = slots_[hash % kSlots];
  const int times = again ? 2 : 1;
  const bool fresh =
      slot.key == hash && slot.times >= times && now - slot.when < period;
  if (fresh) return 0;
  slot = {hash, now, times};
  return times;
}

}  // namespace ers::store
