#include "store/support/touch_times.h"

namespace ers::store {

int TouchTimes::Due(std::uint64_t key_hash, bool again, net::TimePoint now,
                    net::Duration period) {
  slots_.resize(kSlots);
  Slot& slot = slots_[key_hash % kSlots];
  const int times = again ? 2 : 1;
  const bool fresh = slot.key_hash == key_hash && slot.times >= times &&
                     now - slot.when < period;
  if (fresh) return 0;
  slot = {key_hash, now, times};
  return times;
}

}  // namespace ers::store
