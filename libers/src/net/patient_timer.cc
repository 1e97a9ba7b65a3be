#include "net/patient_timer.h"

#include <algorithm>
#include <utility>

namespace ers::net {

PatientTimer::PatientTimer(Runtime& runtime, std::function<void()> over)
    : runtime_(runtime),
      over_(std::move(over)),
      timer_(runtime.NewTimer([this] { OnPart(); })) {}

void PatientTimer::Start(Duration timeout) {
  timeout_ = timeout;
  until_ = runtime_.Now() + timeout;
  AwaitPart();
}

void PatientTimer::Stop() { timer_->Stop(); }

void PatientTimer::AwaitPart() {
  const TimePoint now = runtime_.Now();
  part_until_ = std::min(until_, now + timeout_ / kPartsOfTimeout);
  timer_->Start(part_until_ - now);
}

void PatientTimer::OnPart() {
  const TimePoint now = runtime_.Now();
  if (now - part_until_ > timeout_ / kPartsOfTimeout) {
    Start(timeout_);
  } else if (now < until_) {
    AwaitPart();
  } else {
    over_();
  }
}

}  // namespace ers::net
