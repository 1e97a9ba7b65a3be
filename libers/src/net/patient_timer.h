// PatientTimer: a time-out that counts only the time in which this thread ran.
#ifndef ERS_NET_PATIENT_TIMER_H_
#define ERS_NET_PATIENT_TIMER_H_

#include <functional>
#include <memory>

#include "net/runtime.h"

namespace ers::net {

// A time-out is waited for in so many parts. A timer that fires late by one or
// more shows that this thread was away, in a callback of the caller's or
// stopped: neither could it read nor write meanwhile, nor perhaps could the
// server.
inline constexpr int kPartsOfTimeout = 4;

// Loop thread only.
class PatientTimer {
 public:
  // `runtime` outlives it. `over` may start it again, or destroy it.
  PatientTimer(Runtime& runtime, std::function<void()> over);

  // `over` is called after that long; where this thread was away meanwhile, as
  // long again after that.
  void Start(Duration timeout);
  void Stop();

 private:
  void AwaitPart();
  void OnPart();

  Runtime& runtime_;
  const std::function<void()> over_;
  const std::unique_ptr<Timer> timer_;
  Duration timeout_{};
  TimePoint until_;
  TimePoint part_until_;
};

}  // namespace ers::net

#endif  // ERS_NET_PATIENT_TIMER_H_
