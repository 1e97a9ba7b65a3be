// What processes show each other through the registry and their entries, and
// what is left where servers lose some of it.
#include "store/membership/participants.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/format/participant.h"
#include "store/format/record.h"
#include "store/membership/ensure_lease.h"
#include "store/support/wakeup.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 6;

struct Fixture {
  // `for_time`: a client that has something to do all the time.
  void KeepBusy(SimClient& client, Duration for_time) {
    const TimePoint until = world.now() + for_time;
    while (world.now() < until) {
      (void)client.Begin();
      Wait(milliseconds(100));
    }
  }
  void Wait(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  SimServer& server(int number) {
    return *world.servers()[static_cast<std::size_t>(number)];
  }
  bool Lists(int number, std::string_view label) {
    const ModelItem* item =
        server(number).items().Find(store::kParticipantsKey);
    if (item == nullptr) return false;
    const Result<store::Registry> registry = store::DecodeRegistry(item->value);
    if (!registry) return false;
    for (const store::Participant& one : registry->participants) {
      if (one.label == label) return true;
    }
    return false;
  }
  std::vector<std::string> Entries(int number) {
    std::vector<std::string> entries;
    for (const std::string& key : server(number).items().LiveKeys()) {
      if (key.starts_with(store::kEntryPrefix)) entries.push_back(key);
    }
    return entries;
  }
  // Ends when the process has left the view of before, mostly.
  void BeginMarkDown(SimClient& by, int member) {
    net::Spawn([](SimClient& client, int number,
                  std::optional<Status>& into) -> net::Task<void> {
      into = co_await store::MarkDown(client.session, number, "a test");
    }(by, member, marked));
    world.RunUntil([&] { return marked.has_value(); }, seconds(1));
  }

  World world{11};
  const std::string servers = world.AddServers(kServers);
  std::optional<Status> marked;  // by BeginMarkDown
};

TEST_CASE("a registry changes only when processes come and go") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  SimClient other(f.world, f.servers, "other");
  REQUIRE(one.Begin().ok());
  REQUIRE(other.Begin().ok());
  int writes = 0;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&](const SimConnection&,
                             const AppliedCommand& command) {
      writes += command.key == store::kParticipantsKey ? 1 : 0;
    };
  }
  f.KeepBusy(one, seconds(5));
  CHECK(one.HoldsLease());
  CHECK(writes == 0);
  for (const auto& server : f.world.servers()) server->on_applied = nullptr;
}

TEST_CASE("heartbeats take no memory") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  REQUIRE(one.Begin().ok());
  for (const auto& server : f.world.servers()) {
    server->model().out_of_memory = [](std::string_view) { return true; };
  }
  for (int i = 0; i < 50; ++i) {
    f.KeepBusy(one, milliseconds(100));
    CHECK(one.HoldsLease());
  }
  for (const auto& server : f.world.servers()) {
    server->model().out_of_memory = nullptr;
  }
}

// Invariant V1.
TEST_CASE("a process that is listed and has no entry is waited for") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  SimClient other(f.world, f.servers, "other");
  REQUIRE(one.Begin().ok());
  REQUIRE(other.Begin().ok());
  REQUIRE(other.HoldsLease());
  for (int i = 0; i < kServers; ++i) {
    for (const std::string& key : f.Entries(i)) f.server(i).Evict(key);
  }
  // It has nothing to do, and so does not notice.
  f.BeginMarkDown(one, 5);
  // Its lease may have been a long one.
  f.Wait(store::kGoneAfter);
  CHECK_FALSE(f.marked);
  CHECK_FALSE(one.HoldsLease());
  f.Wait(store::kLongGoneAfter);
  REQUIRE(f.marked);
  CHECK(f.marked->ok());
  CHECK(one.session.view()->members[5].state == MemberState::kDown);
}

TEST_CASE("what a server has lost of registry and entries is put back") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  REQUIRE(one.Begin().ok());
  REQUIRE(f.server(1).Evict(store::kParticipantsKey));
  for (const std::string& key : f.Entries(2)) REQUIRE(f.server(2).Evict(key));
  f.KeepBusy(one, seconds(3));
  CHECK(one.HoldsLease());
  for (int i = 0; i < kServers; ++i) {
    CAPTURE(i);
    CHECK(f.Lists(i, "one"));
    CHECK(f.Entries(i).size() == 1);
  }
}

TEST_CASE("a process that was killed is taken off the list") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  REQUIRE(one.Begin().ok());
  {
    auto killed = std::make_shared<SimClient>(f.world, f.servers, "killed");
    REQUIRE(killed->Begin().ok());
    CHECK(f.Lists(0, "killed"));
    killed->process.Kill();
    ParkForever(std::move(killed));
  }
  f.KeepBusy(one, seconds(70));
  for (int i = 0; i < kServers; ++i) {
    CAPTURE(i);
    CHECK_FALSE(f.Lists(i, "killed"));
    CHECK(f.Lists(i, "one"));
    CHECK(f.Entries(i).size() == 1);
  }
}

TEST_CASE("one that only rests is put back on the list when it goes on") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  SimClient rests(f.world, f.servers, "rests");
  REQUIRE(one.Begin().ok());
  REQUIRE(rests.Begin().ok());
  f.KeepBusy(one, seconds(70));
  CHECK_FALSE(f.Lists(0, "rests"));
  REQUIRE(rests.Begin().ok());
  CHECK(rests.HoldsLease());
  for (int i = 0; i < kServers; ++i) CHECK(f.Lists(i, "rests"));
}

// Invariant V4.
TEST_CASE("a change of the view waits a second for a process that ended") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  SimClient ended(f.world, f.servers, "ended");
  REQUIRE(one.Begin().ok());
  REQUIRE(ended.Begin().ok());
  f.KeepBusy(ended, milliseconds(300));
  REQUIRE(ended.HoldsLease());
  const TimePoint begun = f.world.now();
  REQUIRE(one.MarkDown(5).ok());
  CHECK(f.world.now() - begun >= store::kLeaseFor);
  CHECK(f.world.now() - begun < store::kGoneAfter + milliseconds(100));
  CHECK_FALSE(ended.HoldsLease());
}

struct SlowFixture : Fixture {
  void Delay(Duration by) const {
    for (const auto& server : world.servers()) {
      server->faults().slow_min = server->faults().slow_max = by;
    }
  }
  // What the entries of the process say on the servers.
  std::vector<milliseconds> Leases(SimClient& client) {
    const std::string key =
        store::EntryKey(client.cluster->lease.Self(/*random=*/0).id);
    std::vector<milliseconds> leases;
    for (const auto& server : world.servers()) {
      const ModelItem* item = server->items().Find(key);
      REQUIRE(item != nullptr);
      leases.push_back(store::DecodeEntry(item->value)->terms.lease_for);
    }
    return leases;
  }
  const std::vector<milliseconds> all_short =
      std::vector(kServers, store::kLeaseFor);
  const std::vector<milliseconds> all_long =
      std::vector(kServers, store::kLongLeaseFor);
};

TEST_CASE("leases are long while all servers are slow, and entries say so") {
  SlowFixture f;
  SimClient one(f.world, f.servers, "one");
  REQUIRE(one.Begin().ok());
  f.KeepBusy(one, seconds(2));
  CHECK(f.Leases(one) == f.all_short);
  f.Delay(milliseconds(300));
  f.KeepBusy(one, seconds(10));
  CHECK(f.Leases(one) == f.all_long);
  f.Delay({});
  for (int i = 0; i < 300; ++i) {
    f.KeepBusy(one, milliseconds(100));
    CHECK(one.HoldsLease());
  }
  CHECK(f.Leases(one) == f.all_short);
}

// Invariant V4.
TEST_CASE("a process that held a long lease is waited for as long") {
  SlowFixture f;
  SimClient one(f.world, f.servers, "one");
  SimClient ended(f.world, f.servers, "ended");
  REQUIRE(one.Begin().ok());
  REQUIRE(ended.Begin().ok());
  f.Delay(milliseconds(300));
  f.KeepBusy(ended, seconds(10));
  REQUIRE(f.Leases(ended) == f.all_long);
  f.Delay({});
  REQUIRE(ended.HoldsLease());
  const TimePoint begun = f.world.now();
  REQUIRE(one.MarkDown(5).ok());
  CHECK(f.world.now() - begun >= store::kLongLeaseFor);
  CHECK_FALSE(ended.HoldsLease());
}

// Each would join, for a view that is over, and the change would wait for that.
TEST_CASE("calls that wait for a change of the view do not hold it up") {
  constexpr int kProcesses = 8;
  Fixture f;
  f.world.network().latency_max = milliseconds(2);
  std::deque<SimClient> clients;
  bool ends = false;
  int under_way = 0;
  for (int i = 0; i < kProcesses; ++i) {
    SimClient& client =
        clients.emplace_back(f.world, f.servers, fmt::format("client {}", i));
    REQUIRE(client.Begin().ok());
    for (int call = 0; call < 16; ++call) {
      ++under_way;
      net::Spawn([](SimClient& caller, const bool& over,
                    int& count) -> net::Task<void> {
        while (!over) {
          (void)co_await store::EnsureView(caller.session);
          const auto nap = store::Wakeup::New(caller.process);
          (void)co_await nap->Wait(milliseconds(3));
        }
        --count;
      }(client, ends, under_way));
    }
  }
  f.Wait(seconds(2));
  const std::uint64_t epoch = clients.front().epoch();
  const TimePoint begun = f.world.now();
  // Several do it at the same time.
  for (int i = 0; i < kProcesses / 2; ++i) {
    net::Spawn([](SimClient& client) -> net::Task<void> {
      (void)co_await store::MarkDown(client.session, 5, "a test");
    }(clients[static_cast<std::size_t>(i)]));
  }
  f.world.RunUntil([&] { return clients.front().epoch() > epoch; }, seconds(1));
  CHECK(f.world.RunUntil(
      [&] {
        return std::ranges::all_of(clients, [&](SimClient& client) {
          return client.HoldsLease() &&
                 client.epoch() == clients.front().epoch();
        });
      },
      seconds(1)));
  CHECK(f.world.now() - begun < milliseconds(200));
  ends = true;
  CHECK(f.world.RunUntil([&] { return under_way == 0; }, seconds(5)));
}

// What it has sent last may wait there. Invariant V1.
TEST_CASE("a member that has said nothing since a process ended leaves, too") {
  const bool stalls = GENERATE(true, false);
  Fixture f;
  const ClientOptions options{.scheme = {SchemeKind::kErs2, 2, 2, 3}};
  SimClient one(f.world, f.servers, "one", options, 2);
  SimClient ended(f.world, f.servers, "ended", options, 2);
  REQUIRE(one.Begin().ok());
  REQUIRE(ended.Begin().ok());
  f.KeepBusy(ended, milliseconds(300));
  if (stalls) f.server(4).Stall();
  REQUIRE(one.MarkDown(5).ok());
  const std::shared_ptr<const store::View> view = one.session.view();
  CHECK(view->members[5].state == MemberState::kDown);
  CHECK(view->members[4].state ==
        (stalls ? MemberState::kDown : MemberState::kInSync));
}

// A member that is late, and not yet silent, is asked no more than it must be.
TEST_CASE("a lease goes on without a member that takes its time") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  REQUIRE(one.Begin().ok());
  f.KeepBusy(one, milliseconds(300));
  f.server(2).Stall();
  for (int i = 0; i < 9; ++i) {
    f.KeepBusy(one, milliseconds(100));
    CHECK(one.HoldsLease());
  }
  f.server(2).Continue();
}

TEST_CASE("a lease begins again without a member that takes its time") {
  Fixture f;
  SimClient one(f.world, f.servers, "one");
  REQUIRE(one.Begin().ok());
  for (int i = 0; i < kServers; ++i) {
    f.KeepBusy(one, milliseconds(300));
    f.Wait(seconds(1));
    CHECK_FALSE(one.HoldsLease());
    f.server(i).Stall();
    const TimePoint begun = f.world.now();
    REQUIRE(one.Begin().ok());
    CHECK(one.HoldsLease());
    CHECK(f.world.now() - begun < milliseconds(50));
    f.server(i).Continue();
  }
}

TEST_CASE("a process that rests gives heartbeats and holds no lease") {
  Fixture f;
  SimClient rests(f.world, f.servers, "rests");
  SimClient one(f.world, f.servers, "one");
  REQUIRE(rests.Begin().ok());
  REQUIRE(one.Begin().ok());
  const std::string entry =
      store::EntryKey(rests.cluster->lease.Self(/*random=*/0).id);
  int heartbeats = 0;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&](const SimConnection&,
                             const AppliedCommand& command) {
      heartbeats += command.key == entry ? 1 : 0;
    };
  }
  const auto tick = [&](Duration for_time) {
    const TimePoint until = f.world.now() + for_time;
    while (f.world.now() < until) {
      store::GiveHeartbeat(rests.session);
      f.Wait(milliseconds(50));
    }
  };
  tick(store::kRestsAfter + seconds(1));
  CHECK_FALSE(rests.HoldsLease());
  heartbeats = 0;
  tick(seconds(10));
  // To three members each time.
  CHECK(heartbeats >= 3 * 17);
  CHECK(heartbeats <= 3 * 20);
  // It notices what others do all the same.
  REQUIRE(one.MarkDown(5).ok());
  tick(seconds(1));
  CHECK(rests.epoch() == one.epoch());
  for (const auto& server : f.world.servers()) server->on_applied = nullptr;
}

struct OldFixture : Fixture {
  // As a process of before writes its line.
  void Write(std::uint64_t heartbeat) {
    ModelItem item;
    item.value = store::SealRecord({{"peers",
                                     {{{"id", 5U},
                                       {"epoch", 1U},
                                       {"beat", heartbeat},
                                       {"label", "old"}}}}});
    for (const auto& server : world.servers()) {
      ModelItem copy = item;
      server->items().Put(store::kParticipantsKey, std::move(copy));
    }
  }
};

TEST_CASE("no cluster is shared with a process of an older version") {
  OldFixture f;
  {
    SimClient first(f.world, f.servers, "first");
    REQUIRE(first.Begin().ok());
  }
  std::uint64_t heartbeat = 1;
  f.Write(heartbeat);
  SimClient one(f.world, f.servers, "one");
  std::optional<Status> status;
  net::Spawn(
      [](SimClient& client, std::optional<Status>& into) -> net::Task<void> {
        into = co_await store::EnsureView(client.session);
      }(one, status));
  for (int i = 0; i < 40 && !status; ++i) {
    f.world.RunUntil([&] { return status.has_value(); }, milliseconds(500));
    f.Write(++heartbeat);
  }
  REQUIRE(status);
  CHECK(status->code() == StatusCode::kUnavailable);
  CHECK(status->message().find("older version") != std::string::npos);
  CHECK(status->message().find("old,") != std::string::npos);
  CHECK_FALSE(one.HoldsLease());
  CHECK_FALSE(f.Lists(0, "one"));
}

TEST_CASE("what one that was killed has left is replaced") {
  OldFixture f;
  {
    SimClient first(f.world, f.servers, "first");
    REQUIRE(first.Begin().ok());
  }
  f.Write(1);
  SimClient one(f.world, f.servers, "one");
  const TimePoint begun = f.world.now();
  REQUIRE(one.Begin().ok());
  CHECK(f.world.now() - begun >= seconds(5));
  CHECK(one.HoldsLease());
  CHECK(f.Lists(0, "one"));
}

}  // namespace
}  // namespace ers::sim
