#include "store/support/alarms.h"

#include <algorithm>

namespace ers::store {

using net::TimePoint;

Alarms::Alarms(net::Runtime& runtime)
    : runtime_(runtime), timer_(runtime.NewFineTimer([this] { OnTimer(); })) {}

void Alarms::Set(Alarm& alarm, TimePoint due) {
  if (!alarm.is_set()) {
    alarm.before_ = nullptr;
    alarm.behind_ = set_;
    if (set_ != nullptr) set_->before_ = &alarm;
    set_ = &alarm;
  }
  alarm.due_ = due;
  Await(due);
}

void Alarms::Clear(Alarm& alarm) {
  if (!alarm.is_set()) return;
  alarm.due_ = TimePoint::max();
  (alarm.before_ != nullptr ? alarm.before_->behind_ : set_) = alarm.behind_;
  if (alarm.behind_ != nullptr) alarm.behind_->before_ = alarm.before_;
}

void Alarms::Await(TimePoint due) {
  if (due >= awaited_) return;
  awaited_ = due;
  timer_->Start(due - runtime_.Now());
}

// What one rings may set, clear or end any other.
void Alarms::OnTimer() {
  awaited_ = TimePoint::max();
  const TimePoint now = runtime_.Now();
  while (Alarm* due = FirstDue(now)) {
    Clear(*due);
    due->ring_(*due);
  }
  TimePoint next = TimePoint::max();
  for (const Alarm* i = set_; i != nullptr; i = i->behind_) {
    next = std::min(next, i->due_);
  }
  if (next != TimePoint::max()) Await(next);
}

Alarm* Alarms::FirstDue(TimePoint now) {
  Alarm* first = nullptr;
  for (Alarm* i = set_; i != nullptr; i = i->behind_) {
    if (i->due_ > now) continue;
    if (first == nullptr || i->due_ < first->due_) first = i;
  }
  return first;
}

}  // namespace ers::store
