// DeferredQueue: what a runtime has deferred, in the order in which it runs.
#ifndef ERS_NET_DEFERRED_QUEUE_H_
#define ERS_NET_DEFERRED_QUEUE_H_

#include <utility>

#include "net/runtime.h"

namespace ers::net {

// Loop thread only.
class DeferredQueue {
 public:
  // No-op while it is queued.
  void Push(Deferred& deferred) {
    if (std::exchange(deferred.queued, true)) return;
    (deferred.late ? late_ : soon_).Push(deferred);
  }
  [[nodiscard]] bool empty() const {
    return soon_.first == nullptr && late_.first == nullptr;
  }
  // Runs the next one, which may destroy or defer itself. REQUIRES: !empty()
  void RunNext() {
    Deferred& next = (soon_.first != nullptr ? soon_ : late_).Pop();
    next.queued = false;
    next.run(next);
  }

 private:
  struct Order {
    Deferred* first = nullptr;
    Deferred* last = nullptr;

    void Push(Deferred& deferred) {
      deferred.next = nullptr;
      (first == nullptr ? first : last->next) = &deferred;
      last = &deferred;
    }
    Deferred& Pop() { return *std::exchange(first, first->next); }
  };
  Order soon_;
  Order late_;
};

}  // namespace ers::net

#endif  // ERS_NET_DEFERRED_QUEUE_H_
