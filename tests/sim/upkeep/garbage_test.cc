// Garbage collection, case by case.
#include "store/upkeep/garbage.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/format/manifest.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"
#include "store/objects/store.h"
#include "store/upkeep/ended_objects.h"

namespace ers::sim {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kServers = 6;
constexpr std::size_t kBytes = 3000;

// A process of its own.
struct Client {
  Client(World& world, const std::string& servers, const std::string& name)
      : process(world.AddProcess(name)) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 2;
    options.adopt_plain_items = true;
    session = std::make_shared<store::Session>(
        process, store::OpenClusterState(options).value(), 16);
    store = std::make_shared<store::Store>(
        *session, ClientOptions{.scheme = {SchemeKind::kErs2, 2, 2, 4},
                                .inline_below = 64});
  }
  Status Put(std::string_view key, std::string_view value) {
    const auto put = net::SyncWait(
        process, store->Put(key, std::as_bytes(std::span(value)), {}));
    return put ? Status() : put.error();
  }
  std::string Read(std::string_view key) {
    Value value;
    const auto got = net::SyncWait(process, store->Get(key, value));
    return got ? std::string(value.text()) : std::string();
  }
  GarbageReport Collect(const store::GarbageTerms& terms = {}) {
    const auto report =
        net::SyncWait(process, store::CollectGarbage(*session, terms));
    REQUIRE(report.has_value());
    return *report;
  }

  SimRuntime& process;
  std::shared_ptr<store::Session> session;
  std::shared_ptr<store::Store> store;
};

struct Fixture {
  void Wait(net::Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  std::size_t BlocksOf(SimServer& server) {
    std::size_t count = 0;
    for (const std::string& key : server.items().LiveKeys()) {
      count += store::ParseBlockKey(key).has_value() ? 1 : 0;
    }
    return count;
  }
  std::size_t Blocks() {
    std::size_t count = 0;
    for (const auto& server : world.servers()) count += BlocksOf(*server);
    return count;
  }
  // A put whose process is killed at its first block, or once it has written
  // so many manifests. How many blocks that has left.
  std::size_t PutAndDie(const std::string& key, int manifests = 0) {
    const std::size_t before = Blocks();
    Client victim(world, servers, fmt::format("victim{}", ++victims));
    const std::string item = store::ManifestKey(key);
    bool killed = false;
    int written = 0;
    const auto watch = [&](const SimConnection&, const AppliedCommand& done) {
      const bool block = store::ParseBlockKey(done.key).has_value();
      written +=
          done.key == item && (done.verb == "cas" || done.verb == "md") ? 1 : 0;
      const bool now = manifests == 0 ? block : written == manifests;
      if (killed || !now) return;
      killed = true;
      world.After({}, [&victim] { victim.process.Kill(); });
    };
    for (const auto& server : world.servers()) server->on_applied = watch;
    const std::string value(kBytes, 'x');
    net::Spawn([](store::Store& store, std::string_view name,
                  std::string_view bytes) -> net::Task<void> {
      (void)co_await store.Put(name, std::as_bytes(std::span(bytes)), {});
    }(*victim.store, key, value));
    REQUIRE(world.RunUntil([&] { return victim.process.killed(); }, hours(1)));
    for (const auto& server : world.servers()) server->on_applied = nullptr;
    Wait(seconds(6));  // what it sent last
    ParkForever(victim.session);
    ParkForever(victim.store);
    return Blocks() - before;
  }

  // What the primary shows of it.
  store::ChangeId ShownOf(const std::string& key) {
    const store::Session& session = *client.session;
    const int primary =
        store::ReplicasOf(*session.view(), session.ring(), key).primary();
    SimServer& server = *world.servers()[static_cast<std::size_t>(primary)];
    const std::string item_key = store::ManifestKey(key);
    return store::DecodeManifest(item_key, server.items().Find(item_key)->value)
        .value()
        .id;
  }

  World world{7};
  std::string servers = world.AddServers(kServers);
  Client client{world, servers, "client"};
  int victims = 0;
};

TEST_CASE("what a killed put has stored is dropped once it is old") {
  const std::string key = GENERATE("k", "ers!key");
  const bool over_another = GENERATE(false, true);
  Fixture f;
  REQUIRE(f.client.Put("other", std::string(kBytes, 'o')).ok());
  if (over_another) REQUIRE(f.client.Put(key, std::string(kBytes, 'a')).ok());
  const std::size_t live = f.Blocks();
  const std::size_t left = f.PutAndDie(key);
  REQUIRE(left > 0);

  const GarbageReport early = f.client.Collect();
  CHECK(early.listed == live + left);
  CHECK(early.young == live + left);
  CHECK(early.dropped == 0);
  f.Wait(hours(2));
  store::GarbageTerms dry_run;
  dry_run.options.dry_run = true;
  CHECK(f.client.Collect(dry_run).dropped == left);
  CHECK(f.Blocks() == live + left);

  const GarbageReport report = f.client.Collect();
  CHECK(report.listed == live + left);
  CHECK(report.live == live);
  CHECK(report.dropped == left);
  CHECK(report.dropped_bytes > left * 800);
  CHECK(report.skipped == 0);
  CHECK(f.Blocks() == live);
  CHECK(f.client.Read(key) ==
        (over_another ? std::string(kBytes, 'a') : std::string()));
  CHECK(f.client.Collect().dropped == 0);
}

// Invariant G1.
TEST_CASE("a change that is found half way is brought to its end, and stays") {
  const int manifests = GENERATE(1, 2, 3);
  Fixture f;
  REQUIRE(f.client.Put("k", std::string(kBytes, 'a')).ok());
  const std::size_t live = f.Blocks();
  const store::ChangeId before = f.ShownOf("k");
  const std::size_t left = f.PutAndDie("k", manifests);
  REQUIRE(left == live);
  const bool at_primary = f.ShownOf("k") != before;
  f.Wait(hours(2));
  const GarbageReport report = f.client.Collect();
  CHECK(report.live == live);
  CHECK(report.dropped == live);  // of what was replaced, or undone
  CHECK(f.Blocks() == live);
  CHECK(f.client.Read("k") == std::string(kBytes, at_primary ? 'x' : 'a'));
}

TEST_CASE("a dry run changes nothing, and shows what there is") {
  const bool fresh = GENERATE(false, true);
  const int manifests = GENERATE(0, 1);
  Fixture f;
  REQUIRE(f.client.Put("k", std::string(kBytes, 'a')).ok());
  REQUIRE(f.PutAndDie("k", manifests) > 0);
  f.Wait(hours(2));
  // No process has missed it yet.
  f.world.servers()[kServers - 1]->Crash();
  f.world.servers()[kServers - 1]->Restart();
  std::string written;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&written](const SimConnection&,
                                    const AppliedCommand& command) {
      if (command.key == store::kBootKey) return;
      written += fmt::format("{} {}, ", command.verb, command.key);
    };
  }
  Client another(f.world, f.servers, "another");
  store::GarbageTerms dry_run;
  dry_run.options.dry_run = true;
  Client& client = fresh ? another : f.client;
  // The first one may find out which was restarted.
  (void)client.Collect(dry_run);
  const GarbageReport dry = client.Collect(dry_run);
  CHECK(written == "");
  CHECK(dry.dropped > 0);
  for (const auto& server : f.world.servers()) server->on_applied = nullptr;
  std::uint64_t dropped = 0;
  for (int i = 0; i < 2; ++i) dropped += f.client.Collect().dropped;
  CHECK(dry.dropped == dropped);
}

TEST_CASE("names take little memory at a time, whatever there is") {
  Fixture f;
  constexpr int kObjects = 20;
  for (int i = 0; i < kObjects; ++i) {
    REQUIRE(f.client.Put(fmt::format("k{}", i), std::string(kBytes, 'a')).ok());
  }
  const std::size_t live = f.Blocks();
  std::size_t left = 0;
  for (int i = 0; i < 3; ++i) left += f.PutAndDie(fmt::format("gone{}", i));
  f.Wait(hours(2));
  store::GarbageTerms terms;
  terms.names_bytes = 2000;
  const int dumps = f.world.servers().front()->dumps();
  const GarbageReport report = f.client.Collect(terms);
  CHECK(f.world.servers().front()->dumps() > dumps + 3);
  CHECK(report.listed == live + left);
  CHECK(report.live == live);
  CHECK(report.dropped == left);
  CHECK(f.Blocks() == live);
}

// Invariant G4.
TEST_CASE("of a key that no server lists nothing goes while one is silent") {
  Fixture f;
  const std::size_t left = f.PutAndDie("k");
  const std::size_t hidden = f.BlocksOf(*f.world.servers().front());
  f.Wait(hours(2));
  REQUIRE(f.client.Put("other", std::string(kBytes, 'o')).ok());
  const std::size_t all = f.Blocks();
  f.world.servers().front()->faults().dump_busy_chance = 1'000'000;
  const GarbageReport silent = f.client.Collect();
  CHECK(silent.dropped == 0);
  // But what it holds itself it does not show.
  CHECK(silent.skipped == left - hidden);
  CHECK(silent.why.message().find("10.0.0.0:11211") != std::string::npos);
  CHECK(f.Blocks() == all);
  f.world.servers().front()->faults().dump_busy_chance = 0;
  CHECK(f.client.Collect().dropped == left);
}

TEST_CASE("a plain item at the key is left as it is") {
  Fixture f;
  REQUIRE(f.client.Put("other", std::string(kBytes, 'o')).ok());
  const std::size_t live = f.Blocks();
  REQUIRE(f.PutAndDie("k") > 0);
  f.Wait(hours(2));
  const int first = f.client.session->ring().Walk("k", 1).front();
  ModelItems& items = f.world.servers()[first]->items();
  items.Put("k", {.value = "plain",
                  .flags = 9,
                  .expires = items.ExpiryOf(1000),
                  .cas = items.NextCas()});
  const std::uint64_t token = items.Find("k")->cas;
  CHECK(f.client.Collect().skipped == 0);
  CHECK(f.Blocks() == live);
  const ModelItem* item = items.Find("k");
  REQUIRE(item != nullptr);
  CHECK(item->value == "plain");
  CHECK(item->flags == 9);
  CHECK(item->cas != token);
  CHECK(item->expires >= items.Now() + 990);
  CHECK(item->expires <= items.Now() + 1000);
}

// Invariant G4.
TEST_CASE("of a key that no server lists nothing goes under an old view") {
  Fixture f;
  const std::size_t left = f.PutAndDie("k");
  f.Wait(hours(2));
  Client other(f.world, f.servers, "other");
  REQUIRE(other.Put("other", std::string(kBytes, 'o')).ok());
  // Nor does it wait for the one that has died any more.
  REQUIRE(f.client.Put("mine", std::string(kBytes, 'm')).ok());
  for (const auto& server : f.world.servers()) {
    server->faults().dump_time = seconds(20);
  }
  // While one process lists, another one changes the view.
  Result<GarbageReport> report = Fail(StatusCode::kUnavailable, "not yet");
  bool done = false;
  net::Spawn([](store::Session& session, Result<GarbageReport>& into,
                bool& ended) -> net::Task<void> {
    const store::GarbageTerms terms;
    into = co_await store::CollectGarbage(session, terms);
    ended = true;
  }(*f.client.session, report, done));
  f.Wait(seconds(1));
  REQUIRE_FALSE(done);
  const Status down = net::SyncWait(
      other.process, store::MarkDown(*other.session, kServers - 1, "a test"));
  REQUIRE(down.ok());
  REQUIRE_FALSE(done);
  REQUIRE(f.world.RunUntil([&done] { return done; }, hours(1)));
  REQUIRE(report.has_value());
  CHECK(report->dropped == 0);
  CHECK(report->skipped == left);
}

TEST_CASE("no more objects are checked than are allowed in a second") {
  Fixture f;
  constexpr int kObjects = 20;
  for (int i = 0; i < kObjects; ++i) {
    REQUIRE(f.client.Put(fmt::format("k{}", i), std::string(kBytes, 'a')).ok());
  }
  f.Wait(hours(2));
  store::GarbageTerms terms;
  terms.options.objects_per_second = 2;
  const TimePoint begin = f.world.now();
  CHECK(f.client.Collect(terms).live == f.Blocks());
  CHECK(f.world.now() - begin > seconds(kObjects / 2 - 1));
  CHECK(f.world.now() - begin < seconds(kObjects / 2 + 1));
}

TEST_CASE("the space of what was flushed is free at once") {
  Fixture f;
  REQUIRE(f.client.Put("k", std::string(kBytes, 'a')).ok());
  const std::size_t blocks = f.Blocks();
  f.Wait(seconds(1));
  REQUIRE(net::SyncWait(f.client.process, f.client.store->Flush(store::kAtOnce))
              .ok());
  REQUIRE(f.client.Put("new", std::string(kBytes, 'n')).ok());
  CHECK(f.Blocks() == 2 * blocks);
  const GarbageReport report = f.client.Collect();
  f.Wait(seconds(1));
  CHECK(report.flushed == 1);
  CHECK(report.dropped == blocks);
  CHECK(f.Blocks() == blocks);
  CHECK(f.client.Read("k").empty());
  CHECK(f.client.Read("new") == std::string(kBytes, 'n'));
}

TEST_CASE("small values that were flushed give their memory back") {
  Fixture f;
  REQUIRE(f.client.Put("k", "small").ok());
  REQUIRE(f.client.Put("k2", "small").ok());
  CHECK(f.client.Collect().flushed == 0);
  REQUIRE(net::SyncWait(f.client.process, f.client.store->Flush(store::kAtOnce))
              .ok());
  REQUIRE(f.client.Put("new", "small").ok());
  store::GarbageTerms dry_run;
  dry_run.options.dry_run = true;
  CHECK(f.client.Collect(dry_run).flushed == 2);
  CHECK(f.client.Collect().flushed == 2);
  CHECK(f.client.Collect().flushed == 0);
  CHECK(f.client.Read("new") == "small");
  f.Wait(seconds(200));  // tombstones
  for (const auto& server : f.world.servers()) {
    CHECK(server->items().Find("k") == nullptr);
    CHECK(server->items().Find("k2") == nullptr);
  }
}

TEST_CASE("what was touched goes once it has ended") {
  const bool noted = GENERATE(false, true);
  Fixture f;
  store::MemoryNeeds& needs = f.client.session->cluster().needs;
  if (noted) needs.Serve(/*collects=*/true);
  const std::int64_t now = f.world.WallMicros() / kMicrosPerSecond;
  const std::string value(kBytes, 'a');
  for (const std::string_view key : {"ends", "lives"}) {
    PutOptions options;
    options.expiry = now + 10;
    REQUIRE(net::SyncWait(
        f.client.process,
        f.client.store->Put(key, std::as_bytes(std::span(value)), options)));
    REQUIRE(
        net::SyncWait(f.client.process, f.client.store->Touch(key, now + 12)));
  }
  const std::size_t both = f.Blocks();
  f.Wait(seconds(5));
  // By another process.
  Client other(f.world, f.servers, "other");
  REQUIRE(net::SyncWait(other.process, other.store->Touch("lives", now + 900)));
  f.Wait(seconds(95));
  REQUIRE(f.Blocks() == both);
  if (noted) {
    std::vector<std::string> keys = needs.TakeEnded(now + 100);
    CHECK(keys == std::vector<std::string>{"ends", "lives"});
    net::SyncWait(f.client.process,
                  store::DropEndedObjects(*f.client.session, std::move(keys)));
  } else {
    CHECK(f.client.Collect().flushed == 1);
  }
  f.Wait(seconds(1));
  CHECK(f.Blocks() == both / 2);
  CHECK(f.client.Read("ends").empty());
  CHECK(f.client.Read("lives") == value);
  f.Wait(seconds(900));
  CHECK(f.client.Collect().flushed == 1);
  f.Wait(seconds(1));
  CHECK(f.Blocks() == 0);
}

// Invariant G2.
TEST_CASE("a change that takes too long is given up before its commit") {
  Fixture f;
  REQUIRE(f.client.Put("k", std::string(kBytes, 'a')).ok());
  const std::size_t live = f.Blocks();
  const auto late = [&f](const SimConnection&, const AppliedCommand& command) {
    if (!store::ParseBlockKey(command.key)) return;
    // The servers' clocks are further on.
    for (int i = 0; i < kServers; ++i) {
      f.client.session->cluster().clock.Note(
          f.client.process, i,
          static_cast<std::uint64_t>(f.world.WallMicros() / kMicrosPerSecond +
                                     61 * 60),
          f.client.process.Now());
    }
  };
  for (const auto& server : f.world.servers()) server->on_applied = late;
  const Status status = f.client.Put("k", std::string(kBytes, 'b'));
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message().find("over 3600 s") != std::string::npos);
  f.Wait(seconds(1));
  CHECK(f.Blocks() == live);
  CHECK(f.client.Read("k") == std::string(kBytes, 'a'));
}

}  // namespace
}  // namespace ers::sim
