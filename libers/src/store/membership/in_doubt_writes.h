// InDoubtWrites: writes in doubt whose session has ended before their fate was
// known. Any other session of the process takes them over.
#ifndef ERS_STORE_MEMBERSHIP_IN_DOUBT_WRITES_H_
#define ERS_STORE_MEMBERSHIP_IN_DOUBT_WRITES_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/membership/view_keeper.h"

namespace ers::store {

// A kCas, kDelete or kRenew that was sent, and whose reply was lost.
struct InDoubtWrite {
  ViewKeeper::DoubtId doubt;
  std::string key;
  std::uint64_t token;
  std::string boot_mark;
};

// Any thread.
class InDoubtWrites {
 public:
  void Add(InDoubtWrite write) {
    const MutexLock lock(mutex_);
    writes_.push_back(std::move(write));
    any_.store(true);
  }
  [[nodiscard]] bool any() const { return any_.load(); }
  // All of them, which are the caller's from now on.
  std::vector<InDoubtWrite> Take() {
    const MutexLock lock(mutex_);
    any_.store(false);
    return std::exchange(writes_, {});
  }

 private:
  std::atomic<bool> any_{false};
  Mutex mutex_;
  std::vector<InDoubtWrite> writes_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_IN_DOUBT_WRITES_H_
