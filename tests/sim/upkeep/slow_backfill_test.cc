// Backfilling that takes long: what happens meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/changing_keys.h"
#include "jobs/backfiller.h"
#include "jobs/garbage_collector.h"
#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"
#include "store/upkeep/backfill.h"

namespace ers::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 6;
constexpr int kObjects = 30;
constexpr std::size_t kBytes = 2000;

std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
  ClusterOptions options;
  options.servers = servers;
  options.max_failures = 2;
  return store::OpenClusterState(options).value();
}

ModelServerOptions SmallItems() {
  ModelServerOptions options;
  options.item_size_max = 2048;
  return options;
}

struct Fixture {
  Fixture() {
    for (int i = 0; i < kObjects; ++i) MustPut(fmt::format("k{}", i), kBytes);
  }
  void MustPut(const std::string& key, std::size_t size) {
    const std::string value(size, 'v');
    const auto put = net::SyncWait(
        process, store.Put(key, std::as_bytes(std::span(value)), options));
    REQUIRE(put.has_value());
  }
  void Pass(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  bool Until(const std::function<bool()>& condition,
             Duration most = seconds(60)) {
    return world.RunUntil(condition, most);
  }
  MemberState StateOf(int member) {
    return session.view()->members[static_cast<std::size_t>(member)].state;
  }
  SimServer& server(int member) {
    return *world.servers()[static_cast<std::size_t>(member)];
  }
  // They are down, and have come back empty.
  void Restart(const std::vector<int>& members) {
    for (const int member : members) {
      server(member).Crash();
      REQUIRE(
          net::SyncWait(process, store::MarkDown(session, member, "a test's"))
              .ok());
    }
    for (const int member : members) server(member).Restart();
  }
  net::Task<void> Fill() {
    const std::vector<int> all;
    filled = co_await store::Backfill(session, all, terms);
  }

  World world{1};
  const std::string servers = world.AddServers(kServers, SmallItems());
  SimRuntime& process = world.AddProcess("daemon");
  store::Session session{process, Open(servers), 16};
  store::Store store{
      session, {.scheme = {SchemeKind::kErs2, 3, 2, 4}, .inline_below = 0}};
  PutOptions options;
  store::Pace pace{process, 0};
  store::BackfillTerms terms;
  std::optional<Result<store::BackfillReport>> filled;

  proxy::ChangingKeys changing;
  bool listing = false;
  proxy::JobHost host{
      session,
      store,
      changing,
      listing,
      /*stopping=*/false,
      [](const proxy::Job&, bool) {},
      [](const proxy::Job&, const std::function<void()>& then) { then(); },
      [](const TransitionInfo&) {}};
};

// From the middle of the first walk on it waits.
void FillHalf(Fixture& f) {
  f.terms.pace = &f.pace;
  f.terms.parallel = 8;  // the others wait
  f.terms.progress = [&f](const store::BackfillProgress& progress) {
    if (progress.walk != 1 || progress.objects != kObjects / 2) return;
    f.pace.SetRate(1);
    f.pace.Spend(1'000'000);
  };
  net::Spawn(f.Fill());
  REQUIRE(f.Until([&f] { return f.pace.rate() == 1; }));
  f.Pass(seconds(1));
}

TEST_CASE(
    "a server that comes back anew in the midst of a walk is backfilled") {
  Fixture f;
  f.Restart({0, 1});
  FillHalf(f);
  // Another process sees it die and come back.
  SimRuntime& another = f.world.AddProcess("another");
  store::Session session(another, Open(f.servers), 16);
  REQUIRE(net::SyncWait(another, store::EnsureView(session)).ok());
  f.server(1).Crash();
  REQUIRE(net::SyncWait(another, store::MarkDown(session, 1, "dead")).ok());
  f.server(1).Restart();
  REQUIRE(net::SyncWait(another, store::BeginBackfill(session, 1)).ok());
  // As with the next call.
  REQUIRE(net::SyncWait(f.process, store::EnsureView(f.session)).ok());
  f.pace.SetRate(0);
  REQUIRE(f.Until([&f] { return f.filled.has_value(); }));
  REQUIRE(f.filled->has_value());
  CHECK((*f.filled)->members == std::vector<int>{0, 1});
}

Duration TimeToBackfill(std::uint64_t block_bytes) {
  Fixture f;
  f.Restart({0});
  f.terms.block_bytes = block_bytes;
  const TimePoint begun = f.world.now();
  net::Spawn(f.Fill());
  REQUIRE(f.Until([&f] { return f.filled.has_value(); }));
  REQUIRE(f.filled->has_value());
  CHECK((*f.filled)->blocks > 0);
  return f.world.now() - begun;
}

TEST_CASE("groups that there is no memory for wait for each other") {
  // No group has so little, so each is repaired alone.
  CHECK(TimeToBackfill(1) > 3 * TimeToBackfill(store::kBackfillBlockBytes));
}

// Longer than a change may take.
TEST_CASE("an object that is repaired for hours is repaired") {
  Fixture f;
  f.server(0).Crash();
  REQUIRE(net::SyncWait(f.process, store::MarkDown(f.session, 0, "dead")).ok());
  f.MustPut("long", 100 * kBytes);
  f.server(0).Restart();
  f.pace.SetRate(10);
  f.terms.pace = &f.pace;
  const TimePoint begun = f.world.now();
  net::Spawn(f.Fill());
  REQUIRE(f.Until([&f] { return f.filled.has_value(); }, hours(1000)));
  CHECK(f.filled->has_value());
  CHECK(f.world.now() - begun > hours(2));
  CHECK(f.StateOf(0) == MemberState::kInSync);
}

const proxy::BackfillLimits kSlow = [] {
  proxy::BackfillLimits limits;
  limits.parallel = 8;
  limits.bytes_per_second = 1;
  return limits;
}();

// A server is back, and its first blocks are stored.
void BeginSlowly(Fixture& f, proxy::Backfiller& backfiller) {
  f.Restart({0});
  backfiller.Scan();
  REQUIRE(f.Until([&backfiller] { return backfiller.state().blocks > 0; }));
  f.Pass(seconds(1));
}

TEST_CASE("servers keep the view while others are backfilled") {
  Fixture f;
  proxy::Backfiller backfiller(f.host, kSlow);
  BeginSlowly(f, backfiller);
  REQUIRE(f.server(3).Evict(store::kViewKey));
  for (int i = 0; i < 4; ++i) {
    // What the daemon does all the time: it may not go by its view else.
    REQUIRE(net::SyncWait(f.process, store::EnsureView(f.session)).ok());
    backfiller.Scan();
    f.Pass(milliseconds(500));
  }
  REQUIRE(backfiller.at_work());
  CHECK(f.server(3).items().Find(store::kViewKey) != nullptr);
  backfiller.Stop();
  CHECK(f.Until([&backfiller] { return !backfiller.at_work(); }));
}

TEST_CASE("what is done slowly is stopped at once") {
  Fixture f;
  proxy::Backfiller backfiller(f.host, kSlow);
  BeginSlowly(f, backfiller);
  REQUIRE(backfiller.at_work());
  backfiller.Stop();
  CHECK(f.Until([&backfiller] { return !backfiller.at_work(); }, seconds(1)));

  proxy::GarbageCollector collector(f.host, proxy::GarbageSettings());
  proxy::GarbageRequest request;
  request.grace = milliseconds(0);
  request.objects_per_second = 1;
  bool reported = false;
  collector.Collect(request, [&reported](const Result<GarbageReport>& report) {
    CHECK_FALSE(report.has_value());
    reported = true;
  });
  // One object a second.
  f.Pass(milliseconds(2100));
  REQUIRE_FALSE(reported);
  collector.Stop();
  CHECK(f.Until([&reported] { return reported; }, milliseconds(500)));
}

}  // namespace
}  // namespace ers::sim
