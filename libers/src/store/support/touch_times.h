// TouchTimes: when objects were last kept warm on servers that evict, and how
// many of them are being stored again.
#ifndef ERS_STORE_SUPPORT_TOUCH_TIMES_H_
#define ERS_STORE_SUPPORT_TOUCH_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "net/runtime.h"

namespace ers::store {

// As far as it is remembered: bounded. Loop thread only.
class TouchTimes {
 public:
  // How often each item of an object is to be touched now so that servers take
  // it for as warm as what was read: memcached lets an item live on at the end
  // of its LRU that was accessed twice since it came there. `key_hash`: of the
  // object's key. `again`: the read was not the first.
  int Due(std::uint64_t key_hash, bool again, net::TimePoint now,
          net::Duration period);

  // May one more object be stored again that lacked what was touched? A few at
  // a time: clients go first. If so, EndRestore follows.
  bool BeginRestore() {
    if (restoring_ == kMaxRestored) return false;
    ++restoring_;
    return true;
  }
  void EndRestore() { --restoring_; }

 private:
  struct Slot {
    std::uint64_t key_hash = 0;
    net::TimePoint when;
    int times = 0;
  };
  // Two keys of one slot are touched more often than needed, no more.
  static constexpr std::size_t kSlots = std::size_t{1} << 15;
  static constexpr int kMaxRestored = 16;

  std::vector<Slot> slots_;  // none before the first call
  int restoring_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_TOUCH_TIMES_H_
