// Wakeup: a coroutine's wait for a call from any thread, or for too long.
#ifndef ERS_STORE_SUPPORT_WAKEUP_H_
#define ERS_STORE_SUPPORT_WAKEUP_H_

#include <functional>
#include <memory>

#include "net/runtime.h"
#include "net/task.h"

namespace ers::store {

// Made and awaited on the loop thread, called from any. Kept alive by all that
// may still call it.
class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  static std::shared_ptr<Wakeup> New(net::Runtime& runtime) {
    return std::shared_ptr<Wakeup>(new Wakeup(runtime));
  }

  // What to hand to the other side. Calling it more than once is fine.
  std::function<void()> Callback() {
    return [self = shared_from_this()] {
      self->runtime_.Post([self] { self->Fire(true); });
    };
  }

  // True: called. False: `patience` ran out first.
  net::Task<bool> Wait(net::Duration patience) {
    std::unique_ptr<net::Timer> timer =
        runtime_.NewTimer([this] { Fire(false); });
    timer->Start(patience);
    co_await latch_;
    co_return called_;
  }

 private:
  explicit Wakeup(net::Runtime& runtime)
      : runtime_(runtime), latch_(runtime, 1) {}
  void Fire(bool called) {
    if (latch_.count() == 0) return;
    called_ = called;
    latch_.CountDown();
  }

  net::Runtime& runtime_;
  net::Latch latch_;
  bool called_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_WAKEUP_H_
