// Pace: how much a background task may do in a second: in bytes that it moves,
// or objects that it checks.
#ifndef ERS_STORE_SUPPORT_PACE_H_
#define ERS_STORE_SUPPORT_PACE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "net/task.h"
#include "store/support/rate_limiter.h"
#include "store/support/stop_token.h"
#include "store/support/wakeup.h"

namespace ers::store {

// Work is let through while what was done before is paid for. Loop thread
// only.
class Pace {
 public:
  // 0: no limit.
  Pace(net::Runtime& runtime, std::uint64_t per_second) : runtime_(runtime) {
    SetRate(per_second);
  }

  // From now on, also for tasks that wait.
  void SetRate(std::uint64_t per_second) {
    rate_ = per_second;
    limiter_.emplace(per_second, runtime_.Now());
  }
  [[nodiscard]] std::uint64_t rate() const { return rate_; }

  // Waits until the next piece of work may begin. False: not yet, but it is
  // stopped (`stop` null: by no call), or `until` has come.
  net::Task<bool> Await(const StopToken* stop,
                        net::TimePoint until = net::TimePoint::max()) {
    for (;;) {
      const net::TimePoint now = runtime_.Now();
      if (stop != nullptr && stop->stopped()) co_return false;
      const net::Duration wait = limiter_->Take(0, now);
      if (wait.count() == 0) co_return true;
      if (now >= until) co_return false;
      const std::shared_ptr<Wakeup> nap = Wakeup::New(runtime_);
      co_await nap->Wait(std::min<net::Duration>(wait, kRecheck));
    }
  }
  // So much was done.
  void Spend(std::uint64_t amount) { limiter_->Correct(0, amount); }

 private:
  // A rate that is set meanwhile holds after so long, and so does a stop.
  static constexpr net::Duration kRecheck = std::chrono::milliseconds(200);

  net::Runtime& runtime_;
  std::uint64_t rate_ = 0;
  std::optional<RateLimiter> limiter_;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_PACE_H_
