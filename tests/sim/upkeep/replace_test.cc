// Servers that are replaced by others, beside processes that know the old ones.
#include "store/upkeep/replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/objects/store.h"
#include "store/upkeep/rebuild.h"

namespace ers::sim {
namespace {

using std::chrono::seconds;

constexpr int kServers = 6;
constexpr int kKeys = 24;
constexpr int kOldServer = 2;
constexpr std::string_view kNewName = "10.0.9.9:11211";

// A process of its own, with two loops that take turns.
struct Client {
  Client(World& world, const std::string& servers, const std::string& name)
      : process(world.AddProcess(name)) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 2;
    const auto cluster = store::OpenClusterState(options, name).value();
    for (int i = 0; i < 2; ++i) {
      sessions.push_back(
          std::make_unique<store::Session>(process, cluster, 16));
      stores.push_back(std::make_unique<store::Store>(
          *sessions.back(),
          ClientOptions{.scheme = {SchemeKind::kErs2, 2, 2, 4},
                        .inline_below = 64}));
    }
  }
  store::Session& session() { return *sessions.front(); }
  store::Store& store() { return *stores[turn++ % stores.size()]; }

  Status Put(const std::string& key, std::string_view value) {
    const auto put = net::SyncWait(
        process, store().Put(key, std::as_bytes(std::span(value)), {}));
    return put ? Status() : put.error();
  }
  std::string Read(const std::string& key) {
    Value value;
    const auto got = net::SyncWait(process, store().Get(key, value));
    return got ? std::string(value.text()) : std::string(got.error().message());
  }
  Status Replace(std::string old_server, std::string new_server) {
    return net::SyncWait(process,
                         store::ReplaceServer(session(), std::move(old_server),
                                              std::move(new_server)));
  }
  // The names of those that it made in sync.
  std::vector<std::string> Fill() {
    const RebuildOptions options;
    const auto report =
        net::SyncWait(process, store::Rebuild(session(), options));
    return report ? report->backfilled
                  : std::vector<std::string>{report.error().message()};
  }

  SimRuntime& process;
  std::vector<std::unique_ptr<store::Session>> sessions;
  std::vector<std::unique_ptr<store::Store>> stores;
  std::size_t turn = 0;
};

// Writes and reads its own keys until a test ends it.
struct Load {
  Load(Client& its_client, std::string its_prefix)
      : client(its_client), prefix(std::move(its_prefix)) {
    net::Spawn(Run());
  }
  net::Task<void> Run() {
    while (!ends) {
      const std::string key = fmt::format("{}{}", prefix, ++rounds % 7);
      const std::string value(static_cast<std::size_t>(40 + rounds % 900),
                              static_cast<char>('a' + rounds % 26));
      store::Store& store = client.store();
      const auto put =
          co_await store.Put(key, std::as_bytes(std::span(value)), options);
      if (put) values[key] = value;
      if (!put) failures += put.error().message() + "; ";
      Value there;
      const auto got = co_await client.store().Get(key, there);
      if (got && put && there.text() != value) failures += key + " differs; ";
      if (!got) failures += got.error().message() + "; ";
    }
    ended = true;
  }

  Client& client;
  const std::string prefix;
  const PutOptions options;
  int rounds = 0;
  bool ends = false;
  bool ended = false;
  std::string failures;
  std::map<std::string, std::string> values;
};

struct Fixture {
  Fixture() {
    fresh = &world.AddServer(std::string(kNewName));
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = fmt::format("k{}", i);
      values[key] = std::string(static_cast<std::size_t>(30 + 150 * i), 'v');
      REQUIRE(one.Put(key, values[key]).ok());
      REQUIRE(two.Read(key) == values[key]);
    }
    old = world.servers()[kOldServer].get();
  }
  void Wait(net::Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  // The servers with the new one in place of the old one.
  std::string Edited() const {
    std::string list = servers;
    list.replace(list.find(old->name()), old->name().size(), fresh->name());
    return list;
  }
  void AllRight(Client& client) {
    for (const auto& [key, value] : values) {
      CAPTURE(key, client.process.name());
      CHECK(client.Read(key) == value);
    }
  }
  void End(Load& load) {
    load.ends = true;
    REQUIRE(world.RunUntil([&] { return load.ended; }, seconds(60)));
    values.merge(load.values);
  }

  World world{11};
  std::string servers = world.AddServers(kServers);
  SimServer* fresh = nullptr;
  SimServer* old = nullptr;
  std::map<std::string, std::string> values;
  Client one{world, servers, "one"};
  Client two{world, servers, "two"};
};

bool IsFilled(Client& client, const std::string& server) {
  const auto view = client.session().view();
  const store::Member& slot = view->members[kOldServer];
  return slot.server() == server && slot.state == MemberState::kBackfilling;
}

TEST_CASE("a dead server is replaced under the load of two processes") {
  Fixture f;
  Load first(f.one, "one");
  Load second(f.two, "two");
  f.Wait(seconds(1));
  f.old->Crash();
  f.Wait(seconds(3));
  REQUIRE(f.one.Replace(f.old->name(), f.fresh->name()).ok());
  CHECK(f.one.Fill() == std::vector<std::string>{f.fresh->name()});
  f.Wait(seconds(2));
  // No process goes by what is at the old address now.
  f.old->Restart();
  f.Wait(seconds(2));
  f.End(first);
  f.End(second);
  CHECK(first.failures.empty());
  CHECK(second.failures.empty());
  CHECK(first.rounds > 100);
  CHECK(second.rounds > 100);
  CHECK(f.old->items().LiveKeys().size() <= 1);  // a boot mark
  Client third(f.world, f.Edited(), "third");
  for (Client* client : {&f.one, &f.two, &third}) f.AllRight(*client);
  // What it should have it has: any two others may go.
  f.world.servers()[0]->Crash();
  f.world.servers()[4]->Crash();
  for (Client* client : {&f.one, &f.two, &third}) f.AllRight(*client);
  Client fourth(f.world, f.servers, "fourth");
  f.AllRight(fourth);
}

TEST_CASE(
    "a process that slept goes by the new server, though the old one is "
    "as it was") {
  Fixture f;
  f.two.process.PauseFor(seconds(20));
  REQUIRE(f.one.Replace(f.old->name(), f.fresh->name()).ok());
  CHECK(f.one.Fill() == std::vector<std::string>{f.fresh->name()});
  for (int i = 0; i < kKeys; i += 2) {
    const std::string key = fmt::format("k{}", i);
    f.values[key] = std::string(500, 'n');
    REQUIRE(f.one.Put(key, f.values[key]).ok());
  }
  f.Wait(seconds(30));
  f.AllRight(f.two);
  f.values["k1"] = std::string(700, 'm');
  REQUIRE(f.two.Put("k1", f.values["k1"]).ok());
  f.AllRight(f.one);
  // Nor does one that is given the old server alone, and meets it first.
  Client third(f.world, f.servers, "third");
  f.AllRight(third);
  f.old->Crash();
  f.world.servers()[1]->Crash();
  f.world.servers()[5]->Crash();
  for (Client* client : {&f.one, &f.two, &third}) f.AllRight(*client);
}

TEST_CASE(
    "a replacement is cut off at any command, and finished by another "
    "process") {
  for (int commands = 1;; commands += 1 + commands / 3) {
    CAPTURE(commands);
    Fixture f;
    f.old->Crash();
    (void)f.one.Read("k3");
    Client victim(f.world, f.servers, "victim");
    REQUIRE(victim.Read("k3") == f.values["k3"]);
    int applied = 0;
    for (const auto& server : f.world.servers()) {
      server->on_applied = [&](const SimConnection&, const AppliedCommand&) {
        if (++applied != commands) return;
        f.world.After({}, [&victim] { victim.process.Kill(); });
      };
    }
    bool done = false;
    const auto run = [](Client& client, std::string before, std::string after,
                        bool& ended) -> net::Task<void> {
      (void)co_await store::ReplaceServer(client.session(), std::move(before),
                                          std::move(after));
      ended = true;
    };
    net::Spawn(run(victim, f.old->name(), f.fresh->name(), done));
    f.world.RunUntil([&] { return done || victim.process.killed(); },
                     seconds(30));
    for (const auto& server : f.world.servers()) server->on_applied = nullptr;
    f.Wait(seconds(6));
    REQUIRE(f.two.Replace(f.old->name(), f.fresh->name()).ok());
    CHECK(f.two.Fill() == std::vector<std::string>{f.fresh->name()});
    f.old->Restart();
    f.world.servers()[1]->Crash();
    f.world.servers()[3]->Crash();
    f.AllRight(f.one);
    f.AllRight(f.two);
    if (done) {
      CHECK(commands > 6);
      break;
    }
    for (auto& session : victim.sessions) {
      ParkForever(std::shared_ptr<store::Session>(std::move(session)));
    }
    for (auto& store : victim.stores) {
      ParkForever(std::shared_ptr<store::Store>(std::move(store)));
    }
  }
}

TEST_CASE(
    "two replace a server by the same one at any time, and both succeed") {
  for (int commands = 1;; commands += 1 + commands / 20) {
    CAPTURE(commands);
    Fixture f;
    f.old->Crash();
    (void)f.one.Read("k3");
    (void)f.two.Read("k3");
    Status results[2];
    int ended = 0;
    const auto run = [](Client& client, std::string before, std::string after,
                        Status& result, int& count) -> net::Task<void> {
      result = co_await store::ReplaceServer(
          client.session(), std::move(before), std::move(after));
      ++count;
    };
    int applied = 0;
    for (const auto& server : f.world.servers()) {
      server->on_applied = [&](const SimConnection&, const AppliedCommand&) {
        if (++applied != commands) return;
        f.world.After({}, [&] {
          net::Spawn(
              run(f.two, f.old->name(), f.fresh->name(), results[1], ended));
        });
      };
    }
    net::Spawn(run(f.one, f.old->name(), f.fresh->name(), results[0], ended));
    f.world.RunUntil([&] { return ended == 2; }, seconds(60));
    for (const auto& server : f.world.servers()) server->on_applied = nullptr;
    if (applied < commands) {
      CHECK(commands > 20);
      break;
    }
    REQUIRE(ended == 2);
    for (const Status& result : results) {
      CAPTURE(result.message());
      CHECK(result.ok());
    }
    CHECK(IsFilled(f.two, f.fresh->name()));
  }
}

TEST_CASE("of two that replace a server by others at once one at most does") {
  Fixture f;
  SimServer& rival = f.world.AddServer("10.0.9.8:11211");
  f.old->Crash();
  Status results[2];
  int ended = 0;
  const auto run = [](Client& client, std::string before, std::string after,
                      Status& result, int& count) -> net::Task<void> {
    result = co_await store::ReplaceServer(client.session(), std::move(before),
                                           std::move(after));
    ++count;
  };
  net::Spawn(run(f.one, f.old->name(), f.fresh->name(), results[0], ended));
  net::Spawn(run(f.two, f.old->name(), rival.name(), results[1], ended));
  REQUIRE(f.world.RunUntil([&] { return ended == 2; }, seconds(60)));
  // Both are refused where each met what the other had begun: the next change
  // takes that up.
  const bool one_did = results[0].ok() || results[1].ok();
  CHECK_FALSE((results[0].ok() && results[1].ok()));
  const Status& refused = results[0].ok() ? results[1] : results[0];
  CAPTURE(refused.message());
  CHECK((refused.code() == StatusCode::kConflict ||
         refused.code() == StatusCode::kInvalidArgument));
  if (one_did) CHECK(f.one.Fill().size() == 1);
  f.AllRight(f.one);
  f.AllRight(f.two);
}

TEST_CASE("no plain item is made where plain clients would not ask") {
  Fixture f;
  f.old->Crash();
  REQUIRE(f.one.Replace(f.old->name(), f.fresh->name()).ok());
  REQUIRE(f.one.Fill().size() == 1);
  const auto list = net::ParseEndpoints(f.Edited()).value();
  const net::Ring ring(list);
  int exported = 0;
  int refused = 0;
  for (const auto& [key, value] : f.values) {
    const auto done = net::SyncWait(
        f.one.process, f.one.store().Export(key, ExportMode::kExport));
    const auto first = static_cast<std::size_t>(ring.Walk(key, 1).front());
    SimServer* there = f.world.FindServer(list[first].name());
    const auto keys = there->items().LiveKeys();
    const bool found = std::find(keys.begin(), keys.end(), key) != keys.end();
    CAPTURE(key, done ? "exported" : std::string(done.error().message()));
    if (done) {
      CHECK(found);
      ++exported;
    } else {
      CHECK(done.error().message().find("was replaced") != std::string::npos);
      ++refused;
    }
  }
  CHECK(exported > 0);
  CHECK(refused > 0);
}

// Invariant V2.
TEST_CASE("a server that lives is replaced only while all others are in sync") {
  Fixture f;
  f.world.servers()[0]->Crash();
  REQUIRE(net::SyncWait(f.one.process,
                        store::MarkDown(f.one.session(), 0, "a test"))
              .ok());
  const Status needed = f.one.Replace(f.old->name(), f.fresh->name());
  CHECK(needed.code() == StatusCode::kUnavailable);
  CHECK(needed.message().find("is needed") != std::string_view::npos);
  // A dead one at once: f is 2.
  f.old->Crash();
  CHECK(f.one.Replace(f.old->name(), f.fresh->name()).ok());
  f.AllRight(f.one);
  f.AllRight(f.two);
}

TEST_CASE(
    "a death that no process has noticed yet counts when one is replaced") {
  Fixture f;
  f.world.servers()[0]->Crash();
  const std::uint64_t epoch = f.one.session().view()->epoch;
  const Status needed = f.one.Replace(f.old->name(), f.fresh->name());
  CHECK(needed.code() == StatusCode::kUnavailable);
  CHECK(needed.message().find("does not answer") != std::string_view::npos);
  CHECK(f.one.session().view()->epoch == epoch);
  // Nothing is half done: it comes back, and all goes on.
  f.world.servers()[0]->Restart();
  f.AllRight(f.one);
}

// Waits until a task of the process changes the view.
void AwaitClaim(Fixture& f, Client& client) {
  store::ViewKeeper& keeper = client.session().cluster().keeper;
  REQUIRE(f.world.RunUntil([&] { return !keeper.AtRest([] {}); }, seconds(9)));
}

TEST_CASE(
    "a process that finds the old server dead too late leaves the new one in") {
  const std::size_t session = GENERATE(0, 1);  // that which replaces, another
  Fixture f;
  f.old->Crash();
  int ended = 0;
  const auto replace = [](Client& client, std::string before, std::string after,
                          int& count) -> net::Task<void> {
    (void)co_await store::ReplaceServer(client.session(), std::move(before),
                                        std::move(after));
    ++count;
  };
  const auto mark = [](store::Session& here, int& count) -> net::Task<void> {
    (void)co_await store::MarkDown(here, kOldServer, "a test");
    ++count;
  };
  net::Spawn(replace(f.one, f.old->name(), f.fresh->name(), ended));
  AwaitClaim(f, f.one);
  net::Spawn(mark(*f.one.sessions[session], ended));
  REQUIRE(f.world.RunUntil([&] { return ended == 2; }, seconds(60)));
  CHECK(IsFilled(f.one, f.fresh->name()));
}

// Invariant R7.
TEST_CASE(
    "a process that did not hear of a replacement leaves the new server in") {
  Fixture f;
  REQUIRE(f.two.Replace(f.old->name(), f.fresh->name()).ok());
  REQUIRE(f.one.session().view()->members[kOldServer].address.empty());
  REQUIRE(net::SyncWait(f.one.process,
                        store::MarkDown(f.one.session(), kOldServer, "a test"))
              .ok());
  CHECK(IsFilled(f.one, f.fresh->name()));
  f.AllRight(f.one);
  f.AllRight(f.two);
}

// Invariant V1.
TEST_CASE("a write that is in doubt on the old server leaves with it") {
  Fixture f;
  f.old->Crash();
  (void)f.one.Read("k3");
  store::ViewKeeper& keeper = f.one.session().cluster().keeper;
  const std::uint64_t epoch = f.one.session().view()->epoch;
  REQUIRE(keeper.BeginWrite(epoch, kOldServer));
  REQUIRE(keeper.PutInDoubt(epoch, kOldServer));
  REQUIRE(f.one.Replace(f.old->name(), f.fresh->name()).ok());
  CHECK(IsFilled(f.one, f.fresh->name()));
  CHECK(keeper.MembersInDoubt().empty());
}

}  // namespace
}  // namespace ers::sim
