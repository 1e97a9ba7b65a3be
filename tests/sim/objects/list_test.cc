// Listing in the simulated world: what else a session does meanwhile.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/repair/key_dump.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 4;
constexpr std::string_view kValue = "a value that is longer than a block";

std::shared_ptr<store::ClusterState> OpenCluster(World& world) {
  ClusterOptions options;
  options.servers = world.AddServers(kServers);
  return store::OpenClusterState(options).value();
}

struct Fixture {
  Fixture() {
    REQUIRE(MustPut("one"));
    REQUIRE(MustPut("two"));
  }
  bool MustPut(std::string_view key) {
    const std::span<const char> text(kValue);
    return net::SyncWait(process, store.Put(key, std::as_bytes(text), {}))
        .has_value();
  }
  // Starts a listing; `listed` and `keys` say what became of it.
  void StartList() {
    net::Spawn([](Fixture& f) -> net::Task<void> {
      const auto visit = [&f](std::string_view key, const ObjectInfo&) {
        return f.keys.emplace(key).second;
      };
      f.status = co_await f.store.List(visit);
      f.listed = true;
    }(*this));
  }
  bool EveryServerDumps() {
    for (const auto& server : world.servers()) {
      if (server->dumps() != 1) return false;
    }
    return true;
  }

  World world{1};
  SimRuntime& process = world.AddProcess("client");
  store::Session session{process, OpenCluster(world), 16};
  store::Store store{session,
                     {.scheme = {SchemeKind::kRs, 2, 1, 2}, .inline_below = 0}};
  bool listed = false;
  Status status;
  std::set<std::string> keys;
};

const std::set<std::string> kBoth = {"one", "two"};

TEST_CASE("a listing goes on past what cannot be read where that is wanted") {
  Fixture f;
  for (const auto& server : f.world.servers()) {
    if (ModelItem* item = server->items().Find("one")) ++item->value.back();
  }
  const auto visit = [&f](std::string_view key, const ObjectInfo&) {
    return f.keys.emplace(key).second;
  };
  const Status first = net::SyncWait(f.process, f.store.List(visit));
  CHECK(first.code() == StatusCode::kCorruption);
  f.keys.clear();
  std::set<std::string> unreadable;
  ListOptions options;
  options.unreadable = [&](std::string_view key, const Status& why) {
    unreadable.emplace(key);
    CHECK(why.code() == StatusCode::kCorruption);
  };
  REQUIRE(net::SyncWait(f.process, f.store.List(visit, options)).ok());
  CHECK(f.keys == std::set<std::string>{"two"});
  CHECK(unreadable == std::set<std::string>{"one"});
  f.keys.clear();
  options.unreadable = nullptr;
  options.wanted = [](std::string_view key) { return key == "two"; };
  REQUIRE(net::SyncWait(f.process, f.store.List(visit, options)).ok());
  CHECK(f.keys == std::set<std::string>{"two"});
}

TEST_CASE("reads and writes go on while the servers dump their keys") {
  Fixture f;
  const milliseconds dump_time(900);
  for (const auto& server : f.world.servers()) {
    server->faults().dump_time = dump_time;
  }
  f.StartList();
  REQUIRE(f.world.RunUntil([&] { return f.EveryServerDumps(); }, seconds(1)));
  const TimePoint first_reply = f.world.now() + dump_time / 2;

  Value value;
  CHECK(net::SyncWait(f.process, f.store.Get("one", value)).has_value());
  CHECK(value.text() == kValue);
  CHECK(f.MustPut("two"));
  CHECK(f.world.now() < first_reply);
  CHECK_FALSE(f.listed);

  REQUIRE(f.world.RunUntil([&] { return f.listed; }, seconds(10)));
  CHECK(f.status.ok());
  CHECK(f.keys == kBoth);
}

TEST_CASE(
    "a listing survives one dump that fails, and names the servers of two") {
  Fixture f;
  const auto fail = [&f](int server) {
    f.world.servers()[static_cast<std::size_t>(server)]
        ->faults()
        .dump_busy_chance = 1'000'000;
  };
  const auto list = [&f] {
    f.listed = false;
    f.keys.clear();
    f.StartList();
    REQUIRE(f.world.RunUntil([&] { return f.listed; }, seconds(60)));
  };
  fail(1);
  list();
  CHECK(f.status.ok());
  CHECK(f.keys == kBoth);
  fail(3);
  list();
  CHECK(f.status.code() == StatusCode::kUnavailable);
  CHECK(f.keys.empty());
  const std::string busy = "BUSY currently processing crawler request";
  CHECK(f.status.message() ==
        "2 servers cannot list their keys (10.0.0.1:11211: " + busy +
            "; 10.0.0.3:11211: " + busy +
            "), the cluster survives 1: "
            "start what does not answer, then try again");
}

TEST_CASE("a server that is busy with another dump is asked again") {
  Fixture f;
  for (const auto& server : f.world.servers()) {
    server->faults().dump_busy_chance = 800'000;
  }
  f.StartList();
  REQUIRE(f.world.RunUntil([&] { return f.listed; }, seconds(10)));
  CHECK(f.status.ok());
  CHECK(f.keys == kBoth);
}

TEST_CASE("a listing does not wait again for a server that is known dead") {
  Fixture f;
  f.world.servers().front()->SetReachable(false);
  f.session.link(0).Abort("a request got no answer");
  f.StartList();
  const TimePoint begin = f.world.now();
  REQUIRE(f.world.RunUntil([&] { return f.listed; }, seconds(10)));
  CHECK(f.world.now() - begin < milliseconds(100));
  CHECK(f.status.ok());
  CHECK(f.keys == kBoth);
}

// Invariant V5.
TEST_CASE("a server that forgot everything is refused by the listing") {
  Fixture f;
  // Not so the connections that stand: they have not noticed yet.
  f.world.servers()[1]->items().Flush();
  f.world.servers()[2]->items().Flush();
  f.StartList();
  REQUIRE(f.world.RunUntil([&] { return f.listed; }, seconds(10)));
  CHECK(f.status.code() == StatusCode::kUnavailable);
  CHECK(f.status.message().find("10.0.0.1:11211: it was restarted") !=
        std::string::npos);
}

// A dump's connection tries again while others are dumped.
TEST_CASE("why a dump failed is reported as it was then") {
  Fixture f;
  for (const auto& server : f.world.servers()) {
    server->faults().dump_time = seconds(5);
  }
  f.world.servers()[1]->items().Flush();
  std::optional<store::KeyDump> dump;
  net::Spawn([](Fixture& fixture,
                std::optional<store::KeyDump>& into) -> net::Task<void> {
    const auto visit = [](const store::DumpedItem&) {};
    into = co_await store::DumpKeys(fixture.session, fixture.session.view(),
                                    kServers, nullptr, visit);
  }(f, dump));
  f.world.RunUntil([] { return false; }, seconds(1));
  REQUIRE_FALSE(dump.has_value());
  f.world.servers()[1]->SetReachable(false);
  REQUIRE(f.world.RunUntil([&] { return dump.has_value(); }, seconds(20)));
  CHECK(dump->refused == std::vector<int>{1});
  CHECK(dump->silent == 1);
  REQUIRE(dump->why.size() == 1);
  CHECK(dump->why.front().find("10.0.0.1:11211: it was restarted") == 0);
}

struct Seen {
  std::set<std::string> keys;
  std::int64_t last_access = 0;
};

Seen ListThose(Fixture& f, const store::ListTerms& terms) {
  Seen seen;
  const auto visit = [&seen](const store::ListedObject& object) {
    seen.last_access = object.last_access;
    return seen.keys.insert(object.manifest->key).second;
  };
  f.status = net::SyncWait(f.process, f.store.ListObjects(terms, visit));
  return seen;
}

TEST_CASE("a listing shows the last access, and is none") {
  Fixture f;
  store::ListTerms terms;
  terms.wanted = [](std::string_view key) { return key == "one"; };
  const std::int64_t stored = f.process.WallMicros() / 1'000'000;
  const auto wait = [&f] {
    const TimePoint end = f.world.now() + seconds(10);
    f.world.RunUntil([&] { return f.world.now() >= end; }, seconds(11));
  };
  for (int i = 0; i < 3; ++i) {
    wait();
    const Seen seen = ListThose(f, terms);
    CHECK(seen.keys == std::set<std::string>{"one"});
    CHECK(seen.last_access <= stored + 1);
    CHECK(net::SyncWait(f.process, f.store.Stat("one")).has_value());
    CHECK(net::SyncWait(f.process, f.store.Info("one")).has_value());
  }
  Value value;
  for (int i = 0; i < 2; ++i) {
    CHECK(net::SyncWait(f.process, f.store.Get("one", value)).has_value());
  }
  CHECK(ListThose(f, terms).last_access >= stored + 29);
  // Also where a server cannot list its keys, be it that which is read.
  for (const auto& server : f.world.servers()) {
    server->faults().dump_busy_chance = 1'000'000;
    CHECK(ListThose(f, terms).last_access >= stored + 29);
    server->faults().dump_busy_chance = 0;
  }
}

TEST_CASE("a listing that is stopped ends soon") {
  Fixture f;
  for (const auto& server : f.world.servers()) {
    server->faults().dump_time = seconds(20);
  }
  store::StopToken stop;
  store::ListTerms terms;
  terms.stop = &stop;
  const auto timer = f.process.NewTimer([&stop] { stop.Stop(); });
  timer->Start(milliseconds(500));
  const TimePoint begin = f.world.now();
  ListThose(f, terms);
  CHECK(f.status.code() == StatusCode::kUnavailable);
  CHECK(f.world.now() - begin < seconds(1));
  ListThose(f, terms);  // it stays so
  CHECK(f.status.code() == StatusCode::kUnavailable);
}

}  // namespace
}  // namespace ers::sim
