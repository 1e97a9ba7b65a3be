// Alarms: many of them, one timer.
#include "store/support/alarms.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "unit/net/fake_runtime.h"

namespace ers::store {
namespace {

using std::chrono::milliseconds;

struct Bell : Alarm {
  Bell() : Alarm([](Alarm& self) { static_cast<Bell&>(self).OnRing(); }) {}
  void OnRing() {
    ++rung;
    if (then) then();
  }
  int rung = 0;
  std::function<void()> then;
};

struct Fixture {
  void Set(Alarm& alarm, int in_ms) {
    alarms.Set(alarm, runtime.Now() + milliseconds(in_ms));
  }
  void Pass(int ms) { runtime.Pass(milliseconds(ms)); }

  test::FakeRuntime runtime;
  Alarms alarms{runtime};
};

TEST_CASE("each rings once, at its time") {
  Fixture f;
  Bell late;
  Bell soon;
  f.Set(late, 9);
  f.Set(soon, 4);
  f.Pass(3);
  CHECK(soon.rung == 0);
  f.Pass(1);
  CHECK(soon.rung == 1);
  CHECK_FALSE(soon.is_set());
  f.Pass(4);
  CHECK(late.rung == 0);
  f.Pass(1);
  CHECK(late.rung == 1);
  f.Pass(100);
  CHECK(soon.rung + late.rung == 2);
}

TEST_CASE("what is cleared does not ring, and what is set again rings then") {
  Fixture f;
  Bell cleared;
  Bell moved;
  f.Set(cleared, 2);
  f.Set(moved, 2);
  f.alarms.Clear(cleared);
  f.alarms.Clear(cleared);
  f.Set(moved, 5);
  f.Pass(4);
  CHECK(cleared.rung + moved.rung == 0);
  f.Pass(1);
  CHECK(moved.rung == 1);
  f.Set(moved, 1);
  f.Pass(1);
  CHECK(moved.rung == 2);
}

TEST_CASE("one that rings may set, clear and end others") {
  Fixture f;
  Bell first;
  Bell second;
  auto third = std::make_unique<Bell>();
  f.Set(first, 1);
  f.Set(second, 1);
  f.Set(*third, 1);
  const auto end_others = [&] {
    f.alarms.Clear(first);
    f.alarms.Clear(second);
    if (third) f.alarms.Clear(*third);
    third.reset();
    f.Set(second, 1);
  };
  first.then = second.then = end_others;
  third->then = [&] { f.alarms.Clear(second); };
  f.Pass(1);
  CHECK(first.rung + second.rung >= 1);
  f.alarms.Clear(first);
  f.alarms.Clear(second);
}

// As a reply does that waited to be read.
struct Clears : net::Deferred {
  Clears(Alarms& its_alarms, Alarm& its_alarm)
      : alarms(its_alarms), alarm(its_alarm) {
    run = [](Deferred& self) {
      auto& clears = static_cast<Clears&>(self);
      clears.alarms.Clear(clears.alarm);
    };
  }
  Alarms& alarms;
  Alarm& alarm;
};

TEST_CASE("none rings before what came while the loop was away was seen to") {
  Fixture f;
  Bell first;
  Bell second;
  Bell third;
  Clears reply(f.alarms, second);
  first.then = [&] { f.runtime.Defer(reply); };
  f.Set(first, 2);
  f.Set(second, 4);
  f.Set(third, 5);
  f.runtime.Stall(milliseconds(10));
  f.Pass(0);
  CHECK(first.rung == 1);
  CHECK(second.rung == 0);
  CHECK(third.rung == 1);
}

TEST_CASE("alarms end while their timer's turn is to come") {
  test::FakeRuntime runtime;
  auto alarms = std::make_unique<Alarms>(runtime);
  Bell bell;
  Bell other;
  alarms->Set(bell, runtime.Now() + milliseconds(1));
  bell.then = [&] { alarms->Set(other, runtime.Now()); };
  runtime.Pass(milliseconds(1));
  CHECK(bell.rung + other.rung == 2);
  alarms.reset();
  runtime.Pass(milliseconds(1));
}

}  // namespace
}  // namespace ers::store
