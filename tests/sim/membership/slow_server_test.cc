// What separates a server that is slow from one that is dead.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/backfill.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kSlow = 1;
constexpr int kKeys = 12;
constexpr std::string_view kValue = "a value that is cut into blocks";

// One thread of a process: what it does, call by call.
struct Thread {
  Thread(SimRuntime& its_process, std::shared_ptr<store::ClusterState> cluster,
         std::string its_name)
      : process(its_process),
        name(std::move(its_name)),
        session(process, std::move(cluster), 16),
        store(session,
              {.scheme = {SchemeKind::kErs2, 2, 1, 3}, .inline_below = 0}) {}

  // Puts and reads every key.
  net::Task<void> Run() {
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = fmt::format("{}{}", name, i);
      const TimePoint begun = process.Now();
      const auto put =
          co_await store.Put(key, std::as_bytes(std::span(kValue)), options);
      const TimePoint stored = process.Now();
      Value value;
      const auto got = co_await store.Get(key, value);
      if (!put || !got || value.text() != kValue) ++failures;
      for (const Duration took : {stored - begun, process.Now() - stored}) {
        if (took >= milliseconds(150)) ++waits;
        longest = std::max(longest, took);
      }
    }
    ended = true;
  }

  SimRuntime& process;
  const std::string name;
  store::Session session;
  store::Store store;
  const PutOptions options;
  int failures = 0;
  int waits = 0;  // calls that took as long as silence and its probe
  Duration longest{};
  bool ended = false;
};

struct Fixture {
  std::shared_ptr<store::ClusterState> Open() {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 1;
    options.request_timeout = seconds(1);
    return store::OpenClusterState(options, "client").value();
  }
  void RunBoth() {
    for (Thread* thread : {&one, &two}) {
      thread->waits = 0;
      thread->ended = false;
      net::Spawn(thread->Run());
    }
    REQUIRE(
        world.RunUntil([this] { return one.ended && two.ended; }, seconds(90)));
    CHECK(one.failures + two.failures == 0);
  }
  store::View View() { return *one.session.view(); }
  static void SetLate(SimServer& server, Duration least, Duration most) {
    server.faults().slow_min = least;
    server.faults().slow_max = most;
  }
  Result<store::BackfillReport> Backfill() {
    const store::BackfillTerms terms;
    return net::SyncWait(process, store::Backfill(one.session, {}, terms));
  }
  SimServer& server() { return *world.servers()[kSlow]; }

  World world{3};
  const std::string servers = world.AddServers(5);
  SimRuntime& process = world.AddProcess("client");
  const std::shared_ptr<store::ClusterState> cluster = Open();
  Thread one{process, cluster, "one"};
  Thread two{process, cluster, "two"};
};

TEST_CASE("a server that becomes late, but no more silent, stays in the view") {
  Fixture f;
  f.RunBoth();
  const std::uint64_t epoch = f.View().epoch;
  f.SetLate(f.server(), milliseconds(60), milliseconds(80));
  f.RunBoth();
  CHECK(f.View().epoch == epoch);
  CHECK(f.View().NotInSync() == 0);
}

TEST_CASE("one that always answers late, but in time, stays, too") {
  Fixture f;
  f.SetLate(f.server(), milliseconds(120), milliseconds(140));
  f.RunBoth();
  f.RunBoth();
  CHECK(f.View().NotInSync() == 0);
}

TEST_CASE(
    "one that is late all at once leaves, until it is not late any more") {
  Fixture f;
  f.RunBoth();
  f.SetLate(f.server(), milliseconds(300), milliseconds(400));
  f.RunBoth();
  CHECK(f.View().NotInSync() == 1);
  CHECK_FALSE(f.Backfill().has_value());
  f.SetLate(f.server(), {}, {});
  const auto back = f.Backfill();
  CAPTURE(back ? "" : back.error().message());
  CHECK(back.has_value());
  f.RunBoth();
  CHECK(f.View().NotInSync() == 0);
}

// Not the servers: the network, or this process.
TEST_CASE("where all are late at once none is dead") {
  Fixture f;
  f.RunBoth();
  const std::uint64_t epoch = f.View().epoch;
  for (const auto& server : f.world.servers()) {
    f.SetLate(*server, milliseconds(300), milliseconds(400));
  }
  f.RunBoth();
  CHECK(f.View().epoch == epoch);
  CHECK(f.View().NotInSync() == 0);
}

TEST_CASE("a process that stood still calls none dead") {
  Fixture f;
  f.RunBoth();
  const std::uint64_t epoch = f.View().epoch;
  for (int i = 0; i < 40; ++i) {
    f.world.After(milliseconds(1 + 600 * i),
                  [&f] { f.process.PauseFor(milliseconds(500)); });
  }
  f.RunBoth();
  CHECK(f.View().epoch == epoch);
}

// Of the server alone, and with what else stands still; how it ends.
net::Outcome AskSilent(Fixture& f, SimServer* other) {
  f.RunBoth();
  f.world.RunUntil([] { return false; }, seconds(3));  // no more heartbeats
  if (other != nullptr) other->Stall();
  f.server().Stall();
  bool ended = false;
  net::Request get;
  get.verb = net::Verb::kGet;
  get.key = "key";
  get.context = &ended;
  get.done = [](net::Request& done) {
    *static_cast<bool*>(done.context) = true;
  };
  f.one.session.link(kSlow).Submit(get);
  f.world.RunUntil([] { return false; }, milliseconds(400));
  f.server().Continue();
  REQUIRE(f.world.RunUntil([&ended] { return ended; }, seconds(2)));
  return get.outcome;
}

TEST_CASE("one that stands still is dead where n - f others answer") {
  Fixture f;
  CHECK(AskSilent(f, nullptr) == net::Outcome::kLost);
}

// Without it, too, no view could be made.
TEST_CASE("but not where another one may have died, and nothing asks it") {
  Fixture f;
  CHECK(AskSilent(f, f.world.servers().back().get()) == net::Outcome::kMiss);
}

TEST_CASE("a frozen server is put down once, and waited for once") {
  Fixture f;
  f.RunBoth();
  const std::uint64_t epoch = f.View().epoch;
  f.server().Stall();
  f.RunBoth();
  CHECK(f.View().epoch == epoch + 1);
  CHECK(f.View().members[kSlow].state == MemberState::kDown);
  CHECK(f.View().NotInSync() == 1);
  // Each thread has its own connection, and finds out by it at most.
  CHECK(f.one.waits + f.two.waits >= 1);
  CHECK(f.one.waits <= 1);
  CHECK(f.two.waits <= 1);
  CHECK(std::max(f.one.longest, f.two.longest) < milliseconds(400));
  f.RunBoth();
  CHECK(f.one.waits + f.two.waits == 0);
  CHECK(f.View().epoch == epoch + 1);
}

}  // namespace
}  // namespace ers::sim
