#include "store/support/alarms.h"

#include <algorithm>
#include <utility>

namespace ers::store {

using net::TimePoint;

struct Alarms::Turn : net::Deferred {
  explicit Turn(Alarms* its_alarms) : alarms(its_alarms) {
    late = true;
    run = [](Deferred& self) {
      auto& turn = static_cast<Turn&>(self);
      if (turn.alarms != nullptr) {
        turn.alarms->RingDue();
      } else {
        delete &turn;
      }
    };
  }
  Alarms* alarms;
};

Alarms::Alarms(net::Runtime& runtime)
    : runtime_(runtime),
      turn_(new Turn(this)),
      timer_(runtime.NewFineTimer([this] { runtime_.Defer(*turn_); })) {}

Alarms::~Alarms() {
  turn_->alarms = nullptr;
  if (!turn_->queued) delete turn_;
}

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
  const TimePoint now = runtime_.Now();
  awaited_ = std::max(due, now);
  timer_->Start(awaited_ - now);
}

// What one rings may set, clear or end any other. Replies of after that time
// may not have been read.
void Alarms::RingDue() {
  const TimePoint until =
      std::min(std::exchange(awaited_, TimePoint::max()), runtime_.Now());
  while (Alarm* due = FirstDue(until)) {
    Clear(*due);
    due->ring_(*due);
  }
  TimePoint next = TimePoint::max();
  for (const Alarm* i = set_; i != nullptr; i = i->behind_) {
    next = std::min(next, i->due_);
  }
  if (next != TimePoint::max()) Await(next);
}

Alarm* Alarms::FirstDue(TimePoint until) {
  Alarm* first = nullptr;
  for (Alarm* i = set_; i != nullptr; i = i->behind_) {
    if (i->due_ > until) continue;
    if (first == nullptr || i->due_ < first->due_) first = i;
  }
  return first;
}

}  // namespace ers::store
