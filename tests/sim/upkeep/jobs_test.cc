// Jobs and policies of ersproxy in the simulated world.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/changing_keys.h"
#include "jobs/backfiller.h"
#include "jobs/job_run.h"
#include "jobs/policy_runner.h"
#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using proxy::ChangingKeys;
using proxy::JobHost;
using proxy::JobRun;
using proxy::JobState;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 6;
constexpr int kObjects = 60;
constexpr std::size_t kBytes = 2000;
constexpr int kParallel = 4;

std::shared_ptr<store::ClusterState> OpenCluster(World& world,
                                                 int max_failures) {
  ClusterOptions options;
  options.max_failures = max_failures;
  options.servers = world.AddServers(kServers);
  return store::OpenClusterState(options).value();
}

struct Fixture {
  explicit Fixture(int max_failures = 1)
      : session(process, OpenCluster(world, max_failures), 16) {
    for (int i = 0; i < kObjects; ++i) REQUIRE(Put(i).ok());
  }
  Status Put(int i) {
    const std::string value(kBytes, 'v');
    const auto bytes = std::as_bytes(std::span(value));
    const auto put = net::SyncWait(
        process, store.Put(fmt::format("k{}", i), bytes, PutOptions()));
    return put ? Status() : put.error();
  }
  std::size_t UnderWay() { return changing.WithPrefix("").size(); }
  bool Until(const std::function<bool()>& condition) {
    return world.RunUntil(condition, seconds(60));
  }

  World world{2};
  SimRuntime& process = world.AddProcess("daemon");
  store::Session session;
  store::Store store{
      session, {.scheme = {SchemeKind::kErs2, 4, 1, 5}, .inline_below = 0}};
  ChangingKeys changing;
  bool listing = false;
  JobHost host{
      session,
      store,
      changing,
      listing,
      /*stopping=*/false,
      [](const proxy::Job&, bool) {},
      [](const proxy::Job&, const std::function<void()>& then) { then(); },
      [](const TransitionInfo&) {}};
};

TEST_CASE("a job that is resumed has all its lanes again") {
  Fixture f;
  proxy::JournalEntry entry;
  entry.job.spec.target.width = Width::kWide;
  entry.job.spec.parallel = kParallel;
  JobRun run(f.host, std::move(entry));
  run.Begin();
  REQUIRE(f.Until([&] { return f.UnderWay() == kParallel; }));
  REQUIRE(run.Pause().ok());
  REQUIRE(f.Until([&] { return f.UnderWay() == 1; }));
  REQUIRE(run.Resume().ok());
  std::size_t most = 0;
  REQUIRE(f.Until([&] {
    most = std::max(most, f.UnderWay());
    return !run.at_work();
  }));
  CHECK(run.job().state == JobState::kDone);
  CHECK(run.job().counts.changed == kObjects);
  CHECK(most == kParallel);
}

// All servers showed a time that is far ahead, and the right one again: for
// this process it stands still until theirs has come so far. That time.
std::int64_t HoldTime(Fixture& f) {
  constexpr std::int64_t kSecond = 1'000'000;
  constexpr std::int64_t kAhead = 1000;
  store::ClusterClock& clock = f.session.cluster().clock;
  const std::int64_t now = clock.Micros(f.process) / kSecond;
  for (const std::int64_t shown : {now + kAhead, now}) {
    for (int i = 0; i < kServers; ++i) {
      clock.Note(f.process, i, static_cast<std::uint64_t>(shown),
                 f.process.Now());
    }
  }
  return clock.Micros(f.process);
}

TEST_CASE("a job that is taken up counts no object twice where time stood") {
  Fixture f;
  proxy::JournalEntry entry;
  entry.job.spec.target.width = Width::kWide;
  entry.job.spec.parallel = kParallel;
  const std::int64_t stands = HoldTime(f);
  JobRun killed(f.host, std::move(entry));
  killed.Begin();
  REQUIRE(f.Until([&] { return killed.job().counts.changed == kObjects / 2; }));
  const proxy::JournalEntry saved = killed.Entry();
  REQUIRE(f.session.WallMicros() == stands);
  CHECK(saved.saved_us > stands);
  killed.Stop();
  f.host.stopping = true;
  REQUIRE(f.Until([&] { return !killed.at_work(); }));
  f.host.stopping = false;
  JobRun next(f.host, saved);
  next.Begin();
  REQUIRE(f.Until([&] { return !next.at_work(); }));
  CHECK(next.job().state == JobState::kDone);
  CHECK(next.job().counts.changed == kObjects);
  CHECK(next.job().counts.already == 0);
}

TEST_CASE("a job that deletes and is taken up leaves what was stored since") {
  Fixture f;
  f.world.RunUntil([] { return false; }, seconds(2));
  proxy::JournalEntry entry;
  entry.job.spec.deletes = true;
  entry.job.spec.objects_per_second = 10;
  entry.job.created = f.session.WallMicros() / 1'000'000;
  JobRun killed(f.host, std::move(entry));
  killed.Begin();
  REQUIRE(f.Until([&] { return killed.job().counts.changed == 5; }));
  const proxy::JournalEntry saved = killed.Entry();
  killed.Stop();
  f.host.stopping = true;
  REQUIRE(f.Until([&] { return !killed.at_work(); }));
  f.host.stopping = false;
  constexpr int kNew = kObjects;
  REQUIRE(f.Put(kNew).ok());
  JobRun next(f.host, saved);
  next.Begin();
  REQUIRE(f.Until([&] { return !next.at_work(); }));
  CHECK(next.job().state == JobState::kDone);
  int left = 0;
  REQUIRE(net::SyncWait(f.process, f.store.List([&](std::string_view key,
                                                    const ObjectInfo&) {
            CHECK(key == fmt::format("k{}", kNew));
            ++left;
            return true;
          })).ok());
  CHECK(left == 1);
}

TEST_CASE("an object that a job finds lost is not gone, but failed") {
  Fixture f;
  const auto detail = net::SyncWait(f.process, f.store.Stat("k0"));
  REQUIRE(detail.has_value());
  for (const BlockState& block : detail->blocks) {
    SimServer& server = *f.world.FindServer(block.server);
    for (const std::string& item : server.items().LiveKeys()) {
      const auto name = store::ParseBlockKey(item);
      if (name && name->hash == store::HashKey("k0")) {
        server.items().Erase(item);
      }
    }
  }
  proxy::JournalEntry entry;
  entry.job.spec.target.width = Width::kWide;
  JobRun run(f.host, std::move(entry));
  run.Begin();
  REQUIRE(f.Until([&] { return !run.at_work(); }));
  CHECK(run.job().counts.changed == kObjects - 1);
  CHECK(run.job().counts.failed == 1);
  CHECK(run.job().counts.gone == 0);
}

TEST_CASE("an error that was overcome is reported no more") {
  Fixture f;
  for (int i = 0; i < 2; ++i) f.world.servers()[i]->Stall();
  proxy::JournalEntry entry;
  entry.job.spec.target.width = Width::kWide;
  JobRun run(f.host, std::move(entry));
  run.Begin();
  REQUIRE(f.Until([&] { return !run.job().last_error.empty(); }));
  CHECK(run.job().state == JobState::kListing);
  for (int i = 0; i < 2; ++i) f.world.servers()[i]->Continue();
  REQUIRE(f.Until([&] { return !run.at_work(); }));
  CHECK(run.job().state == JobState::kDone);
  CHECK(run.job().counts.changed == kObjects);
  CHECK(run.job().last_error.empty());
}

// What the daemon's timer does.
int ScanFor(Fixture& f, proxy::Backfiller& backfiller, int times) {
  int runs = 0;
  for (int i = 0; i < times; ++i) {
    backfiller.Scan();
    runs += backfiller.at_work() ? 1 : 0;
    f.world.RunUntil([] { return false; }, milliseconds(500));
    REQUIRE(f.Until([&] { return !backfiller.at_work(); }));
  }
  return runs;
}

TEST_CASE(
    "a server that cannot be backfilled as others are silent is tried less and "
    "less") {
  Fixture f(2);
  for (int i = 0; i < 2; ++i) f.world.servers()[i]->Crash();
  // Objects that survive one dead server: these changes only find out.
  for (int i = 0; i < kObjects; ++i) (void)f.Put(i);
  REQUIRE(f.session.view()->NotInSync() == 2);
  proxy::Backfiller backfiller(f.host, proxy::BackfillLimits());
  CHECK(ScanFor(f, backfiller, 20) == 20);  // none answers: that is soon asked
  f.world.servers()[0]->Restart();
  CHECK(ScanFor(f, backfiller, 120) < 20);
  CHECK(f.session.view()->members[0].state == MemberState::kBackfilling);
  f.world.servers()[1]->Restart();
  ScanFor(f, backfiller, 60);
  CHECK(f.session.view()->NotInSync() == 0);
  CHECK(ScanFor(f, backfiller, 20) == 20);
}

// A listing alone takes longer than they are left alone.
TEST_CASE("policies that are set again as they are go on") {
  Fixture f;
  proxy::PolicyRunner runner(f.host);
  proxy::Policies policies;
  policies.widen.tiers = {{1, "wide"}};
  policies.widen.every_seconds = 600;
  policies.widen.parallel = 1;
  policies.leave_alone_seconds = 0;
  f.world.RunUntil([] { return false; }, seconds(5));
  runner.Set(policies);
  for (std::uint32_t i = 1; i < 2000 && runner.counts().last_scan == 0; ++i) {
    f.world.RunUntil([] { return false; }, microseconds(500));
    policies.narrow = {{.prefix = "other"}, {{i, "narrow"}}, 60};
    runner.Set(policies);
  }
  CHECK(runner.counts().last_scan > 0);
  const auto changed = [&] { return runner.counts().objects[0][0]; };
  CHECK(changed() == kObjects);
  // Other ones hold at once, in the middle of the time to the next scan.
  const std::string value(kBytes, 'v');
  REQUIRE(net::SyncWait(f.process,
                        f.store.Put("new", std::as_bytes(std::span(value)), {}))
              .has_value());
  policies.widen.parallel = 2;
  f.world.RunUntil([] { return false; }, seconds(5));
  CHECK(changed() == kObjects);
  runner.Set(policies);
  CHECK(f.Until([&] { return changed() == kObjects + 1; }));
  runner.Stop();
  REQUIRE(f.Until([&] { return !runner.at_work(); }));
}

TEST_CASE("a tier of a policy takes m with the width") {
  Fixture f(2);
  const std::string value(kBytes, 'v');
  PutOptions options;
  options.scheme = ParseScheme("ers2:2,1,3").value();
  REQUIRE(net::SyncWait(
              f.process,
              f.store.Put("one", std::as_bytes(std::span(value)), options))
              .has_value());
  proxy::PolicyRunner runner(f.host);
  proxy::Policies policies;
  policies.widen.prefix = "one";
  policies.widen.tiers = {{1, "wide", 2}};
  policies.leave_alone_seconds = 0;
  f.world.RunUntil([] { return false; }, seconds(5));
  runner.Set(policies);
  REQUIRE(f.Until([&] { return runner.counts().objects[0][0] == 1; }));
  const auto info = net::SyncWait(f.process, f.store.Info("one"));
  REQUIRE(info.has_value());
  CHECK(info->width == Width::kWide);
  CHECK(info->scheme == ParseScheme("ers2:2,2,3").value());
  runner.Stop();
  REQUIRE(f.Until([&] { return !runner.at_work(); }));
}

}  // namespace
}  // namespace ers::sim
