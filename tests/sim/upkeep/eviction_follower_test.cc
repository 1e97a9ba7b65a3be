// Where a server evicts a small value's manifest, the others drop theirs.
#include "store/upkeep/eviction_follower.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/view.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 5;
constexpr int kAge = 64;
constexpr std::size_t kInlineBelow = 100;
const std::string kKey = "key";
const seconds kLong(100);

std::shared_ptr<store::ClusterState> Open(const std::string& servers,
                                          int max_failures) {
  ClusterOptions options;
  options.servers = servers;
  options.max_failures = max_failures;
  return store::OpenClusterState(options).value();
}

struct Fixture {
  explicit Fixture(int evicted_after_s = kAge, int max_failures = 1)
      : servers(
            world.AddServers(kServers, {.evicted_after_s = evicted_after_s})),
        process(world.AddProcess("client")),
        session(process, Open(servers, max_failures), 16),
        store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3},
                        .inline_below = kInlineBelow}),
        follower(session) {
    for (const auto& server : world.servers()) {
      server->on_applied = [this](const SimConnection&,
                                  const AppliedCommand& command) {
        if (command.verb != "md" || command.key != kKey) return;
        ++deletes;
        tokens += command.token_given != 0;
      };
    }
  }
  ~Fixture() { follower.Stop(); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  void Put(std::size_t bytes) {
    const std::vector<std::byte> value(bytes);
    const PutOptions options;
    REQUIRE(net::SyncWait(process, store.Put(kKey, value, options)));
    Reconcile();
  }
  bool Get() {
    Value value;
    const Result<GetInfo> got = net::SyncWait(process, store.Get(kKey, value));
    return got.has_value();
  }
  void Reconcile(Duration time = seconds(1)) {
    world.RunUntil([] { return false; }, time);
  }
  // As its owner does.
  void Scan() {
    for (int i = 0; i < 20; ++i) {
      follower.Scan();
      Reconcile();
    }
  }
  // A small value without an access for long; its replicas.
  std::vector<SimServer*> PutLongAgo() {
    Put(10);
    Scan();
    Reconcile(kLong);
    std::vector<SimServer*> replicas = Replicas();
    const auto copies =
        static_cast<std::size_t>(session.cluster().options.max_failures) + 1;
    REQUIRE(replicas.size() == copies);
    return replicas;
  }
  // The servers that have a manifest.
  std::vector<SimServer*> Replicas() {
    std::vector<SimServer*> replicas;
    for (const auto& server : world.servers()) {
      if (server->items().Find(kKey) != nullptr)
        replicas.push_back(server.get());
    }
    return replicas;
  }
  SimServer* Primary() {
    const store::Replicas replicas =
        store::ReplicasOf(*session.view(), session.ring(), kKey);
    const std::string& name = session.member_name(replicas.primary());
    for (const auto& server : world.servers()) {
      if (server->name() == name) return server.get();
    }
    return nullptr;
  }
  // One of those that are not the primary.
  SimServer* OtherReplica() {
    for (SimServer* replica : Replicas()) {
      if (replica != Primary()) return replica;
    }
    return nullptr;
  }
  // It does follow: another value goes from all.
  void CheckThatItFollows() {
    const std::string key = "another";
    const std::vector<std::byte> value(10);
    REQUIRE(net::SyncWait(process, store.Put(key, value, {})));
    Reconcile(kLong);
    std::vector<SimServer*> replicas;
    for (const auto& server : world.servers()) {
      if (server->items().Find(key) != nullptr)
        replicas.push_back(server.get());
    }
    REQUIRE(replicas.size() == 2);
    REQUIRE(replicas[0]->Evict(key));
    Reconcile();
    CHECK(replicas[1]->items().Find(key) == nullptr);
  }
  std::uint64_t dropped() {
    return session.counters().followed_evictions.Get();
  }

  int deletes = 0;
  int tokens = 0;
  World world{1};
  const std::string servers;
  SimRuntime& process;
  store::Session session;
  store::Store store;
  store::EvictionFollower follower;
};

TEST_CASE("what one server has evicted the others drop") {
  for (const int max_failures : {1, 2}) {
    for (int i = 0; i <= max_failures; ++i) {
      CAPTURE(max_failures, i);
      Fixture f(kAge, max_failures);
      const std::vector<SimServer*> replicas = f.PutLongAgo();
      REQUIRE(replicas[static_cast<std::size_t>(i)]->Evict(kKey));
      f.Reconcile();
      CHECK(f.Replicas().empty());
      CHECK(static_cast<int>(f.dropped()) == max_failures);
      // No other item than the one that was read.
      CHECK(f.deletes == max_failures);
      CHECK(f.tokens == max_failures);
      CHECK_FALSE(f.follower.at_work());
      CHECK_FALSE(f.Get());
      f.Put(10);
      CHECK(f.Get());
    }
  }
}

// The primary is the last replica; what it has lost is lost.
TEST_CASE("what was accessed lately is stored again") {
  for (const bool primary_evicts : {false, true}) {
    CAPTURE(primary_evicts);
    Fixture f;
    std::vector<SimServer*> replicas = f.PutLongAgo();
    if ((replicas[0] == f.Primary()) != primary_evicts)
      std::swap(replicas[0], replicas[1]);
    replicas[1]->items().Find(kKey)->accessed = replicas[1]->items().Now();
    REQUIRE(replicas[0]->Evict(kKey));
    f.Reconcile();
    CHECK(f.Get() == !primary_evicts);
    if (primary_evicts) continue;
    CHECK(f.deletes == 0);
    CHECK(f.Replicas().size() == 2);
  }
}

TEST_CASE("what was stored a second ago stays, however soon servers evict") {
  Fixture f;
  f.Put(10);
  f.Scan();
  f.Put(10);
  REQUIRE(f.Replicas().size() == 2);
  REQUIRE(f.OtherReplica()->Evict(kKey));
  f.Reconcile(milliseconds(500));
  CHECK(f.deletes == 0);
  CHECK(f.Get());
}

TEST_CASE(
    "what has been stored again since stays, however late it is reported") {
  Fixture f;
  f.PutLongAgo();
  SimServer* other = f.OtherReplica();
  const ModelItem item = *other->items().Find(kKey);
  REQUIRE(other->Evict(kKey));
  // Long enough ago to count as cold.
  other->items().Put(kKey, item).accessed = item.accessed;
  f.Reconcile();
  CHECK(f.Replicas().size() == 2);
  CHECK(f.deletes == 0);
}

TEST_CASE("one copy that was accessed lately keeps all") {
  Fixture f(kAge, 2);
  f.PutLongAgo();
  SimServer* evicting = f.OtherReplica();
  for (SimServer* replica : f.Replicas()) {
    if (replica == evicting || replica == f.Primary()) continue;
    replica->items().Find(kKey)->accessed = replica->items().Now();
  }
  REQUIRE(evicting->Evict(kKey));
  f.Reconcile();
  CHECK(f.deletes == 0);
  CHECK(f.Replicas().size() == 3);
}

TEST_CASE("a server that never evicts keeps its copy") {
  Fixture f;
  f.Put(10);
  const std::vector<SimServer*> replicas = f.Replicas();
  REQUIRE(replicas.size() == 2);
  replicas[1]->model().options().evictions = false;
  replicas[1]->CutConnections();
  f.Scan();
  f.Reconcile(kLong);
  REQUIRE(replicas[0]->Evict(kKey));
  f.Reconcile();
  CHECK(f.Replicas().size() == 1);
  CHECK(f.deletes == 0);
}

TEST_CASE("nothing is dropped while another replica does not answer") {
  Fixture f(kAge, 2);
  f.PutLongAgo();
  SimServer* evicting = f.OtherReplica();
  f.Primary()->Stall();
  REQUIRE(evicting->Evict(kKey));
  f.Reconcile(seconds(5));
  CHECK(f.deletes == 0);
  CHECK(f.Replicas().size() == 2);
  f.Primary()->Continue();
}

TEST_CASE("long values keep their manifests") {
  Fixture f;
  f.Put(3000);
  f.Scan();
  f.Reconcile(kLong);
  const std::vector<SimServer*> replicas = f.Replicas();
  REQUIRE(replicas.size() == 2);
  REQUIRE(replicas[0]->Evict(kKey));
  f.Reconcile();
  CHECK(f.Replicas().size() == 1);
  f.CheckThatItFollows();
}

TEST_CASE("a server that evicts nothing is not watched") {
  Fixture f(0);
  const std::vector<SimServer*> replicas = f.PutLongAgo();
  REQUIRE(replicas[0]->Evict(kKey));
  f.Reconcile();
  CHECK(f.Replicas().size() == 1);
}

TEST_CASE("a connection that broke is made anew") {
  Fixture f;
  f.Put(10);
  f.Scan();
  for (const auto& server : f.world.servers()) server->CutConnections();
  f.Scan();
  f.Reconcile(kLong);
  REQUIRE(f.Replicas()[0]->Evict(kKey));
  f.Reconcile();
  CHECK(f.Replicas().empty());
}

TEST_CASE("plain items are left alone") {
  Fixture f;
  f.Put(10);
  f.Scan();
  const std::vector<SimServer*> replicas = f.Replicas();
  REQUIRE(replicas.size() == 2);
  ModelItem plain;
  plain.value = "plain";
  replicas[1]->items().Put(kKey, plain);
  f.Reconcile(kLong);
  REQUIRE(replicas[0]->Evict(kKey));
  f.Reconcile();
  CHECK(f.Replicas().size() == 1);
  CHECK(f.deletes == 0);
  f.CheckThatItFollows();
}

TEST_CASE("nothing is done once it has stopped") {
  Fixture f;
  f.PutLongAgo();
  f.follower.Stop();
  f.Scan();
  REQUIRE(f.Replicas()[0]->Evict(kKey));
  f.Reconcile();
  CHECK(f.Replicas().size() == 1);
}

}  // namespace
}  // namespace ers::sim
