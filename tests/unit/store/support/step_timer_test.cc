// What one operation spends its time on, and when.
#include "store/support/step_timer.h"

#include <catch2/catch.hpp>

#include "unit/net/fake_runtime.h"

using namespace ers;
using namespace ers::store;
using namespace std::chrono_literals;

TEST_CASE("a step's time is that during which any of it was under way") {
  test::FakeRuntime runtime;
  StepTimer timer(runtime);
  StepPeriods periods;
  timer.NotePeriods(&periods);
  const net::TimePoint start = runtime.Now();
  timer.Begin(RequestStep::kRead);
  runtime.Stall(1ms);
  timer.Begin(RequestStep::kRead);
  timer.Begin(RequestStep::kDecode);
  runtime.Stall(2ms);
  timer.End(RequestStep::kRead);
  timer.End(RequestStep::kDecode);
  runtime.Stall(3ms);
  timer.End(RequestStep::kRead);
  runtime.Stall(4ms);
  timer.Begin(RequestStep::kRead);
  runtime.Stall(5ms);
  timer.End(RequestStep::kRead);
  timer.Add(RequestStep::kReply, start + 1ms, start + 2ms);

  CHECK(timer.spent(RequestStep::kRead) == 11ms);
  CHECK(timer.spent(RequestStep::kDecode) == 2ms);
  CHECK(timer.spent(RequestStep::kReply) == 1ms);
  CHECK_FALSE(timer.seen(RequestStep::kCommit));
  REQUIRE(periods.list.size() == 4);
  const auto is = [&](std::size_t i, RequestStep step, net::Duration begin,
                      net::Duration end) {
    const StepPeriods::Period& period = periods.list[i];
    return period.step == step && period.begin == start + begin &&
           period.end == start + end;
  };
  CHECK(is(0, RequestStep::kDecode, 1ms, 3ms));
  CHECK(is(1, RequestStep::kRead, 0ms, 6ms));
  CHECK(is(2, RequestStep::kRead, 10ms, 15ms));
  CHECK(is(3, RequestStep::kReply, 1ms, 2ms));
}

TEST_CASE("only the first periods are kept, and all count") {
  test::FakeRuntime runtime;
  StepTimer timer(runtime);
  StepPeriods periods;
  timer.NotePeriods(&periods);
  const int more = 7;
  for (std::size_t i = 0; i < StepPeriods::kMost + more; ++i) {
    timer.Begin(RequestStep::kReceive);
    runtime.Stall(1ms);
    timer.End(RequestStep::kReceive);
  }
  CHECK(periods.list.size() == StepPeriods::kMost);
  CHECK(periods.left_out == more);
  CHECK(timer.spent(RequestStep::kReceive) ==
        (StepPeriods::kMost + more) * 1ms);
}
