// What becomes of a name that is not resolved in time. That nothing is left of
// its resolving shows where leaks are searched for.
#include "tracing/collector_link.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace ers::proxy;

namespace {

constexpr std::chrono::milliseconds kAtOnce{1};

struct Fixture {
  EventOwned<event_base, event_base_free> base{event_base_new()};
  CollectorLink link{base.get(),
                     {.host = "collector.invalid",
                      .port = 4318,
                      .path = "/v1/traces",
                      .authority = "collector.invalid:4318"},
                     "test",
                     kAtOnce};
  std::string body = "{}";
};

}  // namespace

TEST_CASE("a name that is not resolved in time is given up, each time") {
  Fixture f;
  for (int i = 0; i < 3; ++i) {
    std::vector<CollectorLink::Answer> answers;
    f.link.Post(f.body, [&answers](CollectorLink::Answer answer) {
      answers.push_back(std::move(answer));
    });
    while (answers.empty()) event_base_loop(f.base.get(), EVLOOP_ONCE);
    CHECK(answers.front().code == 0);
    CHECK_FALSE(answers.front().why.empty());
  }
}

TEST_CASE("nothing is heard of what is cancelled") {
  Fixture f;
  f.link.Post(f.body, [](const CollectorLink::Answer&) { FAIL("heard"); });
  event_base_loop(f.base.get(), EVLOOP_ONCE);  // it is tried
  f.link.Cancel();
  event_base_loop(f.base.get(), EVLOOP_NONBLOCK);
}
