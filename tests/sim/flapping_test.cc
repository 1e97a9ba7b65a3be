// A server that comes and goes, or is out of one process's reach only.
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "net/task.h"
#include "sim/sim_runtime.h"
#include "sim/sim_server.h"
#include "sim/sim_world.h"
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
  Daemon(World& world, const std::string& servers, const char* its_name)
      : process(world.AddProcess(its_name)),
        name(its_name),
        session(process, Open(servers, its_name), 16),
        store(session,
              {.scheme = {SchemeKind::kErs2, 4, 1, 5}, .inline_below = 0}) {}

  static std::shared_ptr<store::ClusterState> Open(const std::string& servers,
                                                   const char* name) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 1;
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
    co_await store::MissRestarted(session);
    damped.Note(*session.view(), process.Now());
    store::BackfillTerms terms;
    terms.damped = &damped;
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
  int failures = 0;
  Duration longest{};
  bool stop = false;
  int running = 2;
};

struct Fixture {
  Fixture() {
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

  World world{7};
  const std::string servers = world.AddServers(6);
  Daemon a{world, servers, "a"};
  Daemon b{world, servers, "b"};
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

}  // namespace
}  // namespace ers::sim
