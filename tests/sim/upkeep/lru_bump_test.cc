// Servers that evict: a read keeps all of its object warm, and what cannot be
// read any more makes room.
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_checks.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 5;
constexpr int kMaxFailures = 1;
constexpr int kAge = 64;  // touched every two seconds
constexpr std::size_t kInlineBelow = 100;
const std::string kKey = "key";

std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
  ClusterOptions options;
  options.servers = servers;
  options.max_failures = kMaxFailures;
  return store::OpenClusterState(options).value();
}

struct Place {
  SimServer* server;
  std::string item;
};

struct Fixture {
  explicit Fixture(int evicted_after_s)
      : servers(
            world.AddServers(kServers, {.evicted_after_s = evicted_after_s})),
        process(world.AddProcess("client")),
        session(process, Open(servers), 16),
        store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3},
                        .inline_below = kInlineBelow}) {}

  void Put(std::size_t bytes) {
    const std::vector<std::byte> value(bytes);
    const PutOptions options;
    REQUIRE(net::SyncWait(process, store.Put(kKey, value, options)));
    Reconcile();
  }
  StatusCode Get() {
    Value value;
    const Result<GetInfo> got = net::SyncWait(process, store.Get(kKey, value));
    Reconcile();
    return got ? StatusCode::kOk : got.error().code();
  }
  StatusCode Stream() {
    const store::StreamBegin begin = [](const GetInfo&) {};
    const Sink sink = [](std::span<const std::byte>) { return Status(); };
    const Result<GetInfo> got =
        net::SyncWait(process, store.GetTo(kKey, begin, sink));
    Reconcile();
    return got ? StatusCode::kOk : got.error().code();
  }
  // What is done in the background ends.
  void Reconcile(Duration time = seconds(1)) {
    world.RunUntil([] { return false; }, time);
  }
  // The object's items: blocks, and manifests.
  std::vector<Place> Items() {
    std::vector<Place> places;
    for (const auto& server : world.servers()) {
      for (const std::string& item : server->items().LiveKeys()) {
        if (item == kKey || store::ParseBlockKey(item)) {
          places.push_back({server.get(), item});
        }
      }
    }
    return places;
  }
  int Fetched() {
    int count = 0;
    for (const Place& place : Items()) {
      count += place.server->items().Find(place.item)->fetched ? 1 : 0;
    }
    return count;
  }

  World world{1};
  const std::string servers;
  SimRuntime& process;
  store::Session session;
  store::Store store;
};

TEST_CASE("a read touches parity and every manifest where servers evict") {
  for (const bool streamed : {false, true}) {
    CAPTURE(streamed);
    for (const int age : {0, kAge}) {
      CAPTURE(age);
      Fixture f(age);
      f.Put(3000);
      const int items = static_cast<int>(f.Items().size());
      REQUIRE(f.Fetched() == 0);
      // The first read learns that servers evict.
      for (int i = 0; i < 2; ++i) {
        REQUIRE((streamed ? f.Stream() : f.Get()) == StatusCode::kOk);
      }
      if (age == 0) {
        CHECK(f.Fetched() < items);
      } else {
        CHECK(f.Fetched() == items);
      }
    }
  }
}

TEST_CASE("a small value's other manifests are touched, too") {
  Fixture f(kAge);
  f.Put(10);
  REQUIRE(f.Items().size() == 2);
  for (int i = 0; i < 2; ++i) REQUIRE(f.Get() == StatusCode::kOk);
  CHECK(f.Fetched() == 2);
}

TEST_CASE("a primary that reads go around is touched, too") {
  Fixture f(kAge);
  f.Put(10);
  for (int i = 0; i < 50; ++i) REQUIRE(f.Get() == StatusCode::kOk);
  const store::Replicas replicas =
      store::ReplicasOf(*f.session.view(), f.session.ring(), kKey);
  SimServer& primary =
      *f.world.servers()[static_cast<std::size_t>(replicas.primary())];
  primary.faults().slow_min = primary.faults().slow_max = milliseconds(20);
  for (int i = 0; i < 8; ++i) REQUIRE(f.Get() == StatusCode::kOk);
  REQUIRE(f.session.late_servers().IsSlow(replicas.primary()));
  primary.items().Find(kKey)->fetched = false;
  for (int i = 0; i < 4; ++i) REQUIRE(f.Get() == StatusCode::kOk);
  CHECK(primary.items().Find(kKey)->fetched);
}

// Of everything that the object has; reads themselves find data and the
// primary.
TEST_CASE("a read has stored again what went where servers evict") {
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{3000}}) {
    CAPTURE(bytes);
    for (const int age : {0, kAge}) {
      CAPTURE(age);
      int restored = 0;
      int ended = 0;  // without the primary's manifest there is no object
      std::size_t items = 1;
      for (std::size_t i = 0; i < items; ++i) {
        Fixture f(age);
        f.Put(bytes);
        const std::vector<Place> places = f.Items();
        items = places.size();
        REQUIRE(f.Get() == StatusCode::kOk);
        f.Reconcile(seconds(kAge));
        REQUIRE(places[i].server->Evict(places[i].item));
        const bool there = f.Get() == StatusCode::kOk;
        ended += !there;
        restored += there && f.Items().size() == items;
      }
      CHECK(ended == 1);
      if (age == 0) {
        CHECK(restored + 1 < static_cast<int>(items));
      } else {
        CHECK(restored + 1 == static_cast<int>(items));
      }
    }
  }
}

TEST_CASE("what cannot be read any more is dropped where servers evict") {
  for (const bool streamed : {false, true}) {
    CAPTURE(streamed);
    for (const int age : {0, kAge}) {
      CAPTURE(age);
      Fixture f(age);
      f.Put(3000);
      REQUIRE(f.Get() == StatusCode::kOk);
      std::set<const SimServer*> emptied;
      for (const Place& place : f.Items()) {
        if (place.item == kKey) continue;
        if (emptied.size() <= kMaxFailures) emptied.insert(place.server);
        if (emptied.contains(place.server)) {
          REQUIRE(place.server->Evict(place.item));
        }
      }
      CHECK((streamed ? f.Stream() : f.Get()) == StatusCode::kNotFound);
      int blocks = 0;
      for (const Place& place : f.Items()) blocks += place.item != kKey;
      CHECK((blocks == 0) == (age != 0));
      CHECK(f.Get() == StatusCode::kNotFound);
      // A value that comes later is another one.
      f.Put(3000);
      CHECK(f.Get() == StatusCode::kOk);
    }
  }
}

TEST_CASE("an object whose servers are out is not dropped") {
  Fixture f(kAge);
  f.Put(3000);
  REQUIRE(f.Get() == StatusCode::kOk);
  for (int i = 0; i <= kMaxFailures; ++i) {
    f.world.servers()[static_cast<std::size_t>(i)]->Stall();
  }
  for (int i = 0; i < 5; ++i) (void)f.Get();
  for (int i = 0; i <= kMaxFailures; ++i) {
    f.world.servers()[static_cast<std::size_t>(i)]->Continue();
  }
  f.Reconcile(seconds(30));
  CHECK(f.Get() == StatusCode::kOk);
}

}  // namespace
}  // namespace ers::sim
