// Manifest writes whose replies are lost, on more servers than may leave.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kServers = 5;
constexpr int kMaxFailures = 1;
constexpr int kKeys = 20;

std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
  ClusterOptions options;
  options.servers = servers;
  options.max_failures = kMaxFailures;
  return store::OpenClusterState(options).value();
}

struct Fixture {
  explicit Fixture(std::size_t inline_below = 4096)
      : store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3},
                        .inline_below = inline_below}) {}

  net::Task<Result<ObjectInfo>> StartPut(const std::string& key,
                                         std::string_view value = "value") {
    return user->Put(key, std::as_bytes(std::span(value)), put_options);
  }
  bool Put(const std::string& key, std::string_view value = "value") {
    return net::SyncWait(process, StartPut(key, value)).has_value();
  }
  bool Shows(std::string_view value) {
    Value read;
    const bool there =
        net::SyncWait(process, store.Get("key", read)).has_value();
    const auto bytes = std::as_bytes(std::span(value));
    return there && std::equal(read.bytes().begin(), read.bytes().end(),
                               bytes.begin(), bytes.end());
  }
  net::Task<void> PutOne(std::string key) {
    (void)co_await StartPut(key);
    --running;
  }
  // Puts at once, and no server can be reached from `after` on, if any is under
  // way then. Returns, once all puts have ended, how many servers have a write
  // in doubt.
  std::size_t DoubtId(Duration after) {
    REQUIRE(Put("first"));
    running = kKeys;
    for (int i = 0; i < kKeys; ++i) net::Spawn(PutOne(fmt::format("{}", i)));
    world.After(after, [this] {
      if (running > 0) SetReachable(false);
    });
    REQUIRE(world.RunUntil([this] { return running == 0; }, minutes(5)));
    return cluster->keeper.MembersInDoubt().size();
  }
  void SetReachable(bool reachable) {
    for (const auto& server : world.servers()) server->SetReachable(reachable);
  }
  // Calls go on, as links are tried again in their own time, and nothing else
  // renews the lease that a write needs.
  bool Resolved() {
    for (int i = 0; i < 60; ++i) {
      const bool put = Put("first");
      if (put && cluster->keeper.MembersInDoubt().empty()) return true;
      world.RunUntil([] { return false; }, seconds(1));
    }
    return false;
  }

  World world{1};
  const std::string servers = world.AddServers(kServers);
  SimRuntime& process = world.AddProcess("client");
  const std::shared_ptr<store::ClusterState> cluster = Open(servers);
  store::Session session{process, cluster, 16};
  store::Store store;
  store::Store* user = &store;
  const PutOptions put_options;  // outlives the tasks
  int running = 0;
};

TEST_CASE("writes without a reply end once their servers answer again") {
  std::size_t most = 0;
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    Fixture f;
    most = std::max(most, f.DoubtId(microseconds(10) * i));
    f.SetReachable(true);
    REQUIRE(f.Resolved());
    // Nothing stands in the way of the next change of the view.
    f.world.servers()[0]->Crash();
    for (int key = 0; key < kKeys; ++key)
      REQUIRE(f.Put(fmt::format("{}", key)));
  }
  // More than may leave.
  CHECK(most > kMaxFailures);
}

// Two servers seem dead at once, each to another process: one has left by a
// view that the other process cannot take, for its write on the second one.
TEST_CASE("a process with a write in doubt takes a view that others made") {
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    Fixture f;
    REQUIRE(f.Put("key", "old"));
    SimClient other(f.world, f.servers, "other");
    REQUIRE(other.Begin().ok());
    const store::Replicas replicas =
        store::ReplicasOf(*f.session.view(), f.session.ring(), "key");
    const int silent = replicas.primary();
    const int dead = (silent + 1) % kServers;
    SimServer& server = *f.world.servers()[static_cast<std::size_t>(silent)];
    f.world.After(microseconds(20) * i,
                  [&] { server.SetReachableFrom(f.process, false); });
    f.running = 1;
    net::Spawn(f.PutOne("key"));
    bool marked = false;
    f.world.After(milliseconds(120), [&] {
      net::Spawn([](SimClient& client, int member, bool& over,
                    std::size_t& doubts,
                    store::ViewKeeper& keeper) -> net::Task<void> {
        (void)co_await store::MarkDown(client.session, member, "a test");
        doubts = std::max(doubts, keeper.MembersInDoubt().size());
        over = true;
      }(other, dead, marked, most, f.cluster->keeper));
    });
    f.world.RunUntil([] { return false; }, seconds(3));
    server.SetReachableFrom(f.process, true);
    REQUIRE(
        f.world.RunUntil([&] { return f.running == 0 && marked; }, minutes(1)));
    CHECK(f.Resolved());
    bool goes_on = false;
    for (int second = 0; second < 60 && !goes_on; ++second) {
      goes_on = other.Begin().ok();
      f.world.RunUntil([] { return false; }, seconds(1));
    }
    CHECK(goes_on);
  }
  CHECK(most > 0);
}

TEST_CASE("writes of a session that has ended are another one's to end") {
  std::size_t most = 0;
  for (int i = 0; i < 60; i += 5) {
    CAPTURE(i);
    Fixture f;
    {
      store::Session session(f.process, f.cluster, 16);
      store::Store other(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3}});
      f.user = &other;
      most = std::max(most, f.DoubtId(microseconds(10) * i));
      f.user = &f.store;
    }
    f.SetReachable(true);
    REQUIRE(f.Resolved());
  }
  CHECK(most > kMaxFailures);
}

// Of both kinds of silence: what was sent is lost, or comes after all.
// Invariants C6 and C5.
TEST_CASE("a change that was cut off leaves the old value or the new one") {
  constexpr std::size_t kInBlocks = 0;
  for (int i = 0; i < 240; ++i) {
    CAPTURE(i);
    Fixture f(kInBlocks);
    REQUIRE(f.Put("key", "old"));
    f.world.After(microseconds(5) * (i / 2), [&f, i] {
      for (const auto& server : f.world.servers()) {
        if (i % 2 == 0) server->CutConnections();
        server->SetReachable(false);
      }
    });
    f.world.After(seconds(3), [&f] { f.SetReachable(true); });
    const bool done = f.Put("key", "new");
    // Whatever is sent again has landed.
    f.world.RunUntil([] { return false; }, seconds(20));
    REQUIRE(f.Put("other"));
    f.world.RunUntil([] { return false; }, seconds(20));
    const bool old = !done && f.Shows("old");
    REQUIRE((old || f.Shows("new")));
  }
}

TEST_CASE("a session does not wait for servers that never answer again") {
  std::size_t most = 0;
  for (int i = 0; i < 60; i += 5) {
    Fixture f;
    most = std::max(most, f.DoubtId(microseconds(10) * i));
  }
  CHECK(most > kMaxFailures);
}

}  // namespace
}  // namespace ers::sim
