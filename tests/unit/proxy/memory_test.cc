// The budget of memory in flight: which holds get some or wait, in which order.
#include "server/memory.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "net/event_loop.h"

using namespace ers;
using namespace ers::proxy;

namespace {

// 100 bytes for all and 20 in reserve; clients may hold up 50.
struct Fixture {
  Fixture() { budget.SetLimit({120, 20}); }

  // Notes what became of it: "name" in `order`, or "name!" for a refusal.
  void Take(MemoryHold& hold, std::uint64_t bytes, const std::string& name) {
    net::Spawn(Note(hold, bytes, name));
  }
  net::Task<void> Note(MemoryHold& hold, std::uint64_t bytes,
                       std::string name) {
    const Status status = co_await hold.Take(bytes);
    order += status.ok() ? name : name + "!";
  }
  // Lets those go on that were given what they waited for.
  std::string Order() {
    bool done = false;
    loop->Post([&done] { done = true; });
    loop->RunUntil([&done] { return done; });
    return std::exchange(order, {});
  }

  std::unique_ptr<net::EventLoop> loop = net::NewEventLoop();
  Counters counters;
  MemoryBudget budget{*loop, counters};
  MemoryAccount account{budget};
  std::string order;
};

}  // namespace

TEST_CASE("a hold that finds no memory waits in turn and never overtakes") {
  Fixture f;
  MemoryHold a(f.account, WaitsFor::kServers), b(f.account, WaitsFor::kServers),
      c(f.account, WaitsFor::kServers), d(f.account, WaitsFor::kServers);
  f.Take(a, 40, "a");
  f.Take(b, 40, "b");
  CHECK(f.Order() == "ab");
  f.Take(c, 30, "c");
  f.Take(d, 10, "d");  // there would be room
  CHECK(f.Order().empty());
  CHECK(f.counters.Get(Counter::kMemoryWaits) == 2);
  a.Give(10);
  CHECK(f.Order() == "c");
  CHECK(f.budget.held() == 100);
  b.Give(40);
  CHECK(f.Order() == "d");
  CHECK(f.account.held == f.budget.held());
}

TEST_CASE("what clients hold up leaves room for others") {
  Fixture f;
  MemoryHold a(f.account, WaitsFor::kClient), b(f.account, WaitsFor::kClient),
      c(f.account, WaitsFor::kServers), d(f.account, WaitsFor::kClient);
  f.Take(a, 50, "a");
  f.Take(b, 1, "b");
  f.Take(c, 40, "c");
  CHECK(f.Order() == "ac");
  SECTION("until one gives back") {
    a.Give(1);
    CHECK(f.Order() == "b");
  }
  SECTION("until one is no more at the pace of its client") {
    a.SetWaitsFor(WaitsFor::kServers);
    CHECK(f.Order() == "b");
  }
  SECTION("and what was given stays given when a client turns slow") {
    c.SetWaitsFor(WaitsFor::kClient);
    f.Take(d, 5, "d");
    a.Give(50);
    CHECK(f.Order() == "bd");
  }
}

TEST_CASE("a hold that has some is helped out by the reserve, in turn") {
  Fixture f;
  MemoryHold a(f.account, WaitsFor::kClient), b(f.account, WaitsFor::kClient),
      c(f.account, WaitsFor::kServers);
  f.Take(a, 20, "a");
  f.Take(b, 30, "b");
  f.Take(a, 15, "A");
  f.Take(b, 20, "B");
  CHECK(f.Order() == "abA");
  // Those that servers will end are not held back by that.
  f.Take(c, 50, "c");
  CHECK(f.Order() == "c");
  CHECK(f.budget.held() == 115);
  a.Give(35);
  CHECK(f.Order() == "B");
}

TEST_CASE("a step is enough where there is room, the reserve gives the rest") {
  Fixture f;
  MemoryHold a(f.account, WaitsFor::kClient), b(f.account, WaitsFor::kClient);
  f.Take(a, 45, "a");
  f.Take(b, 5, "b");
  std::uint64_t first = 0, second = 0;
  const auto step = [&](MemoryHold& hold,
                        std::uint64_t& got) -> net::Task<void> {
    const Result<std::uint64_t> some = co_await hold.TakeStep(5, 20);
    got = some.value_or(0);
  };
  net::Spawn(step(a, first));
  net::Spawn(step(b, second));
  f.Order();
  CHECK(first == 20);
  CHECK(second == 0);
  a.Give(25);
  f.Order();
  CHECK(second == 5);
}

TEST_CASE("more than one request may have is refused at once") {
  Fixture f;
  MemoryHold a(f.account, WaitsFor::kServers), b(f.account, WaitsFor::kServers);
  f.Take(a, 51, "a");
  f.Take(a, 50, "b");
  f.Take(a, 21, "c");  // beside what it holds
  CHECK(f.Order() == "a!bc!");
}

TEST_CASE("a lower limit lets those that wait go on in the end") {
  Fixture f;
  MemoryHold a(f.account, WaitsFor::kServers), b(f.account, WaitsFor::kServers),
      c(f.account, WaitsFor::kServers);
  f.Take(a, 50, "a");
  f.Take(c, 50, "c");
  f.Take(b, 50, "b");
  f.budget.SetLimit({60, 20});
  a.Give(50);
  CHECK(f.Order() == "ac");
  c.Give(50);
  CHECK(f.Order() == "b");
}

TEST_CASE("a hold gives back what it has when it ends") {
  Fixture f;
  {
    MemoryHold a(f.account, WaitsFor::kClient),
        b(f.account, WaitsFor::kServers);
    CHECK(a.TryTake(40));
    b.TakeFrom(a, 15);
    CHECK(f.budget.held() == 40);
    CHECK(a.TryTake(25));
    CHECK_FALSE(a.TryTake(1));
  }
  CHECK(f.budget.held() == 0);
  CHECK(f.account.held == 0);
}
