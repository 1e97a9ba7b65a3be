// Batch: requests to several servers, awaited together.
#ifndef ERS_STORE_MEMBERSHIP_BATCH_H_
#define ERS_STORE_MEMBERSHIP_BATCH_H_

#include "net/request.h"
#include "net/server_link.h"
#include "net/task.h"
#include "store/membership/send.h"

namespace ers::store {

// Must be awaited before it or its requests go. Loop thread only.
class Batch {
 public:
  explicit Batch(net::Runtime& runtime) : runtime_(runtime), latch_(runtime) {}

  void Send(SendStep step, net::ServerLink& link, net::Request& request) {
    request.outcome = net::Outcome::kPending;
    request.context = &latch_;
    request.done = [](net::Request& done) {
      static_cast<net::Latch*>(done.context)->CountDown();
    };
    latch_.Add();
    store::Send(runtime_, step, link, request);
  }

  auto operator co_await() { return latch_.operator co_await(); }

 private:
  net::Runtime& runtime_;
  net::Latch latch_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_BATCH_H_
