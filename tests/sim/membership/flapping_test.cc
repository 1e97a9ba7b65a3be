// A server that comes and goes, is out of one process's reach only, or is slow
// for long.
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"
#include "store/upkeep/backfill.h"
#include "store/upkeep/damped_returns.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kServer = 1;
constexpr std::array<std::byte, 3000> kValue{};

// A process that puts its keys one after the other, and brings back what
// answers, as a daemon does.
struct Daemon {
  Daemon(World& world, const std::string& servers, const char* its_name,
         int max_failures)
      : process(world.AddProcess(its_name)),
        name(its_name),
        session(process, Open(servers, its_name, max_failures), 16),
        store(session, {.scheme = {SchemeKind::kErs2, 3, max_failures, 4},
                        .inline_below = 0}) {}

  static std::shared_ptr<store::ClusterState> Open(const std::string& servers,
                                                   const char* name,
                                                   int max_failures) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = max_failures;
    return store::OpenClusterState(options, name).value();
  }

  net::Task<void> PutAndGet(int i) {
    const std::string key = name + std::to_string(i % 40);
    const PutOptions options;
    const TimePoint begun = process.Now();
    const auto put = co_await store.Put(key, kValue, options);
    Value value;
    const auto got = co_await store.Get(key, value);
    if (!put || !got) ++failures;
    longest = std::max(longest, process.Now() - begun);
  }
  net::Task<void> Serve() {
    for (int i = 0; !stop; ++i) {
      co_await PutAndGet(i);
      co_await Pause(milliseconds(20));
    }
    --running;
  }
  net::Task<void> Scan() {
    co_await store::MissRestarted(session, &slow);
    damped.Note(*session.view(), process.Now());
    store::BackfillTerms terms;
    terms.damped = &damped;
    terms.slow = &slow;
    (void)co_await store::Backfill(session, {}, terms);
  }
  net::Task<void> BringBack() {
    while (!stop) {
      if (session.view()) co_await Scan();
      co_await Pause(milliseconds(500));
    }
    --running;
  }
  void Start() {
    net::Spawn(Serve());
    net::Spawn(BringBack());
  }
  net::Task<void> Pause(Duration time) {
    net::Latch latch(process, 1);
    const std::unique_ptr<net::Timer> timer =
        process.NewTimer([&latch] { latch.CountDown(); });
    timer->Start(time);
    co_await latch;
  }
  void ForgetTimes() { longest = Duration(); }

  SimRuntime& process;
  const std::string name;
  store::Session session;
  store::Store store;
  store::DampedReturns damped;
  store::SlowServers slow;
  int failures = 0;
  Duration longest{};
  bool stop = false;
  int running = 2;
};

struct Fixture {
  explicit Fixture(int max_failures = 1)
      : a(world, servers, "a", max_failures),
        b(world, servers, "b", max_failures) {
    a.Start();
    b.Start();
    Run(seconds(3));
    REQUIRE(a.session.view());
    REQUIRE(a.session.view()->AllInSync());
    begun = Version();
  }
  ~Fixture() {
    a.stop = b.stop = true;
    (void)world.RunUntil([this] { return a.running + b.running == 0; },
                         minutes(5));
  }
  void Run(Duration time) {
    (void)world.RunUntil([] { return false; }, time);
  }
  std::uint64_t Version() { return a.session.cluster().keeper.version(); }
  // That were in force at one process since then.
  std::uint64_t views() { return Version() - begun; }
  SimServer& server() { return *world.servers()[kServer]; }
  void SetLate(Duration by, std::uint32_t chance = 1'000'000) {
    server().faults().slow_min = server().faults().slow_max = by;
    server().faults().slow_chance = chance;
  }
  bool IsIn(std::size_t member = kServer) {
    return a.session.view()->members[member].InSync();
  }
  void ForgetTimes() {
    a.ForgetTimes();
    b.ForgetTimes();
  }
  // Of one put and one get.
  Duration Longest() const { return std::max(a.longest, b.longest); }
  int Failures() const { return a.failures + b.failures; }

  World world{7};
  const std::string servers = world.AddServers(6);
  Daemon a;
  Daemon b;
  std::uint64_t begun = 0;
};

TEST_CASE("a server that one process alone cannot reach changes few views") {
  Fixture f;
  f.server().SetReachableFrom(f.b.process, false);
  f.Run(seconds(2));
  f.a.ForgetTimes();
  f.b.ForgetTimes();
  f.Run(seconds(58));
  CHECK(f.views() <= 6);
  CHECK(f.views() >= 3);  // it was tried
  CHECK(f.a.failures + f.b.failures == 0);
  CHECK(f.a.longest <= milliseconds(500));
  CHECK(f.b.longest <= milliseconds(500));
  f.server().SetReachableFrom(f.b.process, true);
  f.Run(minutes(3));
  CHECK(f.a.session.view()->AllInSync());
}

TEST_CASE("a server that stands still every few seconds stays out at last") {
  Fixture f;
  for (int i = 0; i < 60; ++i) {
    f.server().Stall();
    f.Run(seconds(3));
    f.server().Continue();
    f.Run(seconds(3));
  }
  // Three for each time that it leaves and comes back: three times in six
  // minutes, and it has left once more.
  CHECK(f.views() <= 3 * 3 + 1);
  CHECK(f.a.failures + f.b.failures == 0);
  f.Run(minutes(16));
  CHECK(f.a.session.view()->AllInSync());
}

TEST_CASE("a server that is slow for long leaves until it is fast again") {
  Fixture f;
  f.SetLate(milliseconds(20));
  f.Run(seconds(5));
  CHECK(!f.IsIn());
  f.ForgetTimes();
  f.Run(minutes(5));
  CHECK(!f.IsIn());
  CHECK(f.views() == 1);
  CHECK(f.Longest() < milliseconds(15));
  f.SetLate({});
  f.Run(seconds(65));
  CHECK(f.a.session.view()->AllInSync());
  CHECK(f.Failures() == 0);
}

TEST_CASE("a slow server stays out where others stand still now and then") {
  Fixture f;
  for (const auto& server : f.world.servers()) {
    server->faults().slow_min = server->faults().slow_max = milliseconds(20);
    server->faults().slow_chance = 20'000;
  }
  f.SetLate(milliseconds(20));
  f.Run(seconds(10));
  REQUIRE(!f.IsIn());
  f.Run(minutes(10));
  CHECK(!f.IsIn());
  CHECK(f.views() == 1);
}

TEST_CASE("a server of whose answers some are late stays") {
  Fixture f;
  f.SetLate(milliseconds(50), 50'000);
  f.Run(minutes(10));
  CHECK(f.views() == 0);
}

TEST_CASE("all servers may be slow alike") {
  Fixture f;
  for (const auto& server : f.world.servers()) {
    server->faults().slow_min = server->faults().slow_max = milliseconds(20);
  }
  f.Run(minutes(1));
  CHECK(f.views() == 0);
}

TEST_CASE("a slow server stays where another one is out") {
  const int max_failures = GENERATE(1, 2);
  Fixture f(max_failures);
  f.world.servers()[kServer + 1]->Crash();
  f.Run(seconds(3));
  REQUIRE(!f.IsIn(kServer + 1));
  const std::uint64_t before = f.views();
  f.SetLate(milliseconds(20));
  f.Run(minutes(1));
  CHECK(f.IsIn());
  CHECK(f.views() == before);
  CHECK(f.Failures() == 0);
}

TEST_CASE("a slow server comes back where another one is lost") {
  Fixture f(2);
  f.SetLate(milliseconds(20));
  f.Run(seconds(5));
  REQUIRE(!f.IsIn());
  f.world.servers()[kServer + 1]->Crash();
  f.Run(minutes(1));
  CHECK(f.IsIn());
  CHECK(!f.IsIn(kServer + 1));
  CHECK(f.Failures() == 0);
  const std::uint64_t before = f.views();
  f.Run(minutes(1));
  CHECK(f.views() == before);
}

}  // namespace
}  // namespace ers::sim
