// Condition: one coroutine's wait until something holds.
#ifndef ERS_PROXY_SERVER_CONDITION_H_
#define ERS_PROXY_SERVER_CONDITION_H_

#include <utility>

#include "net/task.h"

namespace ers::proxy {

// One coroutine waits at a time; Wake is called whenever what it waits for may
// have come. Loop thread only.
class Condition {
 public:
  explicit Condition(net::Runtime& runtime) : runtime_(runtime) {}

  template <typename Predicate>
  net::Task<void> Until(Predicate holds) {
    if (holds()) return net::Task<void>::Ready();
    return Wait(std::move(holds));
  }
  [[nodiscard]] bool waiting() const { return latch_ != nullptr; }
  void Wake() {
    if (latch_ != nullptr && latch_->count() > 0) latch_->CountDown();
  }

 private:
  template <typename Predicate>
  net::Task<void> Wait(Predicate holds) {
    do {
      net::Latch latch(runtime_, 1);
      latch_ = &latch;
      co_await latch;
      latch_ = nullptr;
    } while (!holds());
  }

  net::Runtime& runtime_;
  net::Latch* latch_ = nullptr;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_CONDITION_H_
