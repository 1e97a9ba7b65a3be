// Alarms: what is to happen at a time unless it is called off before, as nearly
// all of it is. One timer serves all that a loop waits for.
#ifndef ERS_STORE_SUPPORT_ALARMS_H_
#define ERS_STORE_SUPPORT_ALARMS_H_

#include <memory>

#include "net/runtime.h"

namespace ers::store {

class Alarms;

// Its owner keeps it where it is while it is set, and calls it off before it
// goes.
class Alarm {
 public:
  explicit Alarm(void (*ring)(Alarm&)) : ring_(ring) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  [[nodiscard]] bool is_set() const { return due_ != net::TimePoint::max(); }

 private:
  friend class Alarms;

  void (*const ring_)(Alarm&);
  net::TimePoint due_ = net::TimePoint::max();
  Alarm* before_ = nullptr;
  Alarm* behind_ = nullptr;
};

// The timer is started where none is under way that comes in time, and never
// stopped: what is called off costs nothing, and what is set again and again
// starts it once in the time that it is set for.
//
// What came before the timer fired is seen to first, though the loop was away:
// none rings for what it only has not read. Loop thread only.
class Alarms {
 public:
  explicit Alarms(net::Runtime& runtime);
  ~Alarms();
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  // Rings it once, at `due` or soon after. Moves one that is set.
  void Set(Alarm& alarm, net::TimePoint due);
  // No-op for one that is not set.
  void Clear(Alarm& alarm);

 private:
  // On its own on the heap: the runtime may still hold it when they are gone.
  struct Turn;

  void RingDue();
  Alarm* FirstDue(net::TimePoint until);
  void Await(net::TimePoint due);

  net::Runtime& runtime_;
  Turn* const turn_;
  const std::unique_ptr<net::Timer> timer_;
  Alarm* set_ = nullptr;  // the newest of those that are set
  net::TimePoint awaited_ = net::TimePoint::max();  // when the timer fires
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_ALARMS_H_
