// Servers without memory (-M): what is refused is refused whole, and whatever
// makes room needs none.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/view_checks.h"
#include "store/upkeep/garbage.h"

namespace ers::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 5;

struct Fixture {
  Fixture() {
    REQUIRE(Put("first", "value") == StatusCode::kOk);  // makes the view
  }
  StatusCode Put(std::string_view key, std::string_view value,
                 std::int64_t expiry = 0) {
    PutOptions options;
    options.expiry = expiry;
    const auto put = net::SyncWait(
        client.process,
        client.store.Put(key, std::as_bytes(std::span(value)), options));
    return put ? StatusCode::kOk : put.error().code();
  }
  StatusCode Delete(std::string_view key) {
    return net::SyncWait(client.process, client.store.Delete(key, 0)).code();
  }
  // "": there is none.
  std::string Read(SimClient& by, std::string_view key) {
    Value value;
    const auto got = net::SyncWait(by.process, by.store.Get(key, value));
    if (!got && got.error().code() != StatusCode::kNotFound) {
      return got.error().message();
    }
    return got ? std::string(value.text()) : std::string();
  }
  GarbageReport Collect() {
    const auto report = net::SyncWait(
        client.process, store::CollectGarbage(client.session, {}));
    REQUIRE(report.has_value());
    return *report;
  }
  store::Replicas Replicas(std::string_view key) {
    return store::ReplicasOf(*client.session.view(), client.session.ring(),
                             std::string(key));
  }
  SimServer& server(int member) {
    return *world.servers()[static_cast<std::size_t>(member)];
  }
  // The records of the cluster have room of their own.
  static void SetFull(SimServer& server, bool full) {
    server.model().out_of_memory = [full](std::string_view key) {
      return full && !key.starts_with("ers!");
    };
  }
  // Once it has what a change of "k" replaces it has no room for that change.
  static void FillUpOncePrepared(SimServer& server, bool there) {
    if (there) return SetFull(server, true);
    server.on_applied = [&server](const SimConnection&,
                                  const AppliedCommand& command) {
      if (command.key == "k" && command.verb == "vivify") SetFull(server, true);
    };
  }
  void SetAllFull(bool full) {
    for (const auto& server : world.servers()) SetFull(*server, full);
  }
  // How many servers have something of this key.
  int Items(std::string_view key) {
    int count = 0;
    for (const auto& server : world.servers()) {
      const ModelItem* item = server->items().Find(key);
      count += item != nullptr && !item->value.empty() ? 1 : 0;
    }
    return count;
  }
  void Wait(net::Duration time) {
    world.RunUntil([] { return false; }, time);
  }

  World world{11};
  const std::string servers = world.AddServers(kServers);
  SimClient client{world, servers, "client",
                   ClientOptions{.scheme = {SchemeKind::kErs2, 2, 1, 3},
                                 .inline_below = 64}};
};

// Invariant C1.
TEST_CASE("a change that a replica has no room for leaves the old value") {
  const bool there = GENERATE(false, true);
  const bool at_primary = GENERATE(false, true);
  CAPTURE(there, at_primary);
  Fixture f;
  const std::string old = there ? "old" : "";
  if (there) REQUIRE(f.Put("k", "old") == StatusCode::kOk);
  SimServer& full = f.server(at_primary ? f.Replicas("k").primary()
                                        : f.Replicas("k").members.front());
  f.FillUpOncePrepared(full, there);
  CHECK(f.Put("k", "new") == StatusCode::kNoMemory);
  full.on_applied = nullptr;
  CHECK(f.Read(f.client, "k") == old);
  CHECK(f.Items("k") == (there ? 2 : 0));
  // Also by the copy that was written.
  full.Crash();
  CHECK(f.Read(f.client, "k") == old);
  full.Restart();
  f.SetFull(full, false);
}

TEST_CASE("what makes room works on servers without memory") {
  Fixture f;
  REQUIRE(f.Put("k", "value") == StatusCode::kOk);
  REQUIRE(f.Put("stays", "value") == StatusCode::kOk);
  f.SetAllFull(true);
  // Only the very copy that was read may go: another may be there by then.
  int deletes = 0;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&deletes](const SimConnection&,
                                    const AppliedCommand& command) {
      if (command.key != "k" || command.verb != "md") return;
      ++deletes;
      CHECK(command.token_given != 0);
    };
  }
  CHECK(f.Put("k", "another") == StatusCode::kNoMemory);
  CHECK(f.Read(f.client, "k") == "value");
  CHECK(f.Delete("absent") == StatusCode::kNotFound);
  CHECK(f.Delete("k") == StatusCode::kOk);
  CHECK(f.Read(f.client, "k").empty());
  CHECK(f.Items("k") == 0);
  CHECK(deletes == 2);
  CHECK(f.Delete("k") == StatusCode::kNotFound);
  CHECK(f.Collect().skipped == 0);
  CHECK(f.Read(f.client, "stays") == "value");
}

// Invariant C1.
TEST_CASE("a change that was cut off is taken back where there is no memory") {
  Fixture f;
  const bool there = GENERATE(false, true);
  const bool at_primary = GENERATE(false, true);
  CAPTURE(there, at_primary);
  if (there) REQUIRE(f.Put("k", "old") == StatusCode::kOk);
  SimServer& first = f.server(f.Replicas("k").members.front());
  SimServer& primary = f.server(f.Replicas("k").primary());
  SimServer& full = at_primary ? primary : first;
  SimServer& takes_it = at_primary ? first : primary;
  f.FillUpOncePrepared(full, there);
  const auto victim = std::make_shared<SimClient>(f.world, f.servers, "victim");
  ParkForever(victim);
  takes_it.on_applied = [&](const SimConnection&,
                            const AppliedCommand& command) {
    if (command.key != "k" || command.verb != "cas") return;
    f.world.After({}, [&victim] { victim->process.Kill(); });
    f.SetAllFull(true);
  };
  net::Spawn([](store::Store& store) -> net::Task<void> {
    const std::string_view value = "new";
    (void)co_await store.Put("k", std::as_bytes(std::span(value)), {});
  }(victim->store));
  REQUIRE(f.world.RunUntil([&] { return victim->process.killed(); }, hours(1)));
  full.on_applied = nullptr;
  takes_it.on_applied = nullptr;
  f.Wait(seconds(6));
  // No server needs memory to see what is committed.
  CHECK(f.Read(f.client, "k") == (there ? "old" : ""));
  CHECK(f.Delete("k") ==
        (there ? StatusCode::kNoMemory : StatusCode::kNotFound));
  f.SetAllFull(false);
  CHECK(f.Delete("k") == (there ? StatusCode::kOk : StatusCode::kNotFound));
}

// Invariant C1.
TEST_CASE("a change that was taken back can land nowhere any more") {
  Fixture f;
  REQUIRE(f.Put("k", "old") == StatusCode::kOk);
  SimServer& full = f.server(f.Replicas("k").members.front());
  SimServer& primary = f.server(f.Replicas("k").primary());
  SimClient writer(f.world, f.servers, "writer");
  REQUIRE(writer.Begin().ok());
  // Both copies are read, then the network holds back what goes to one.
  primary.faults().slow_min = primary.faults().slow_max = milliseconds(10);
  f.world.After(milliseconds(5),
                [&] { full.SetReachableFrom(writer.process, false); });
  bool landed = false;
  primary.on_applied = [&](const SimConnection&,
                           const AppliedCommand& command) {
    if (command.key == "k" && command.verb == "cas") landed = true;
  };
  Status put;
  bool ended = false;
  net::Spawn(
      [](store::Store& store, Status& into, bool& done) -> net::Task<void> {
        const std::string_view value = "new";
        const auto stored =
            co_await store.Put("k", std::as_bytes(std::span(value)), {});
        if (!stored) into = stored.error();
        done = true;
      }(writer.store, put, ended));
  REQUIRE(f.world.RunUntil([&] { return landed; }, seconds(1)));
  primary.on_applied = nullptr;
  primary.faults() = {};
  f.SetFull(full, true);
  CHECK(f.Read(f.client, "k") == "old");
  CHECK_FALSE(ended);
  f.SetFull(full, false);
  full.SetReachableFrom(writer.process, true);
  REQUIRE(f.world.RunUntil([&] { return ended; }, seconds(10)));
  INFO(put.message());
  // It was made anew.
  CHECK(put.ok());
  CHECK(f.Read(f.client, "k") == "new");
  primary.Crash();
  CHECK(f.Read(f.client, "k") == "new");
}

// Invariant C1.
TEST_CASE("a read ends rivals of which each has one replica, and one is full") {
  Fixture f;
  // The second has so much behind the ones before that it forgets the first.
  const int before = GENERATE(0, 1, 2);
  const seconds between(GENERATE(0, 2));
  CAPTURE(before, between);
  SimServer& full = f.server(f.Replicas("k").members.front());
  SimServer& primary = f.server(f.Replicas("k").primary());
  for (int i = 0; i < before; ++i) {
    f.Wait(seconds(2));
    REQUIRE(f.Put("k", "old") == StatusCode::kOk);
  }
  const ModelItems at_full = full.items();
  const ModelItems at_primary = primary.items();
  REQUIRE(f.Put("k", "one") == StatusCode::kOk);
  const ModelItem one = *primary.items().Find("k");
  full.items() = at_full;
  primary.items() = at_primary;
  f.Wait(between);
  SimClient other(f.world, f.servers, "other");
  const std::string_view two = "two";
  REQUIRE(net::SyncWait(other.process,
                        other.store.Put("k", std::as_bytes(std::span(two)), {}))
              .has_value());
  primary.items().Put("k", one);
  f.SetFull(full, true);
  SimClient reader(f.world, f.servers, "reader");
  CHECK(f.Read(reader, "k") == "two");
  CHECK(f.Read(f.client, "k") == "two");
  primary.Crash();
  CHECK(f.Read(reader, "k") == "two");
}

TEST_CASE("a damaged copy that has no room to be repaired hinders no read") {
  Fixture f;
  const bool at_primary = GENERATE(false, true);
  CAPTURE(at_primary);
  REQUIRE(f.Put("k", "value") == StatusCode::kOk);
  SimServer& full = f.server(at_primary ? f.Replicas("k").primary()
                                        : f.Replicas("k").members.front());
  full.items().Find("k")->value.back() ^= 1;
  f.SetFull(full, true);
  SimClient reader(f.world, f.servers, "reader");
  CHECK(f.Read(reader, "k") == "value");
  CHECK(f.Read(reader, "k") == "value");
  f.SetFull(full, false);
  CHECK(f.Put("k", "new") == StatusCode::kOk);
  CHECK(f.Read(reader, "k") == "new");
}

TEST_CASE("small values that were flushed give up memory on full servers") {
  Fixture f;
  REQUIRE(f.Put("flushed", "value") == StatusCode::kOk);
  REQUIRE(net::SyncWait(f.client.process, f.client.store.Flush(store::kAtOnce))
              .ok());
  REQUIRE(f.Put("stays", "value") == StatusCode::kOk);
  REQUIRE(f.Items("flushed") == 2);
  f.SetAllFull(true);
  CHECK(f.Collect().flushed == 2);
  CHECK(f.Items("flushed") == 0);
  CHECK(f.Items("first") == 0);
  CHECK(f.Read(f.client, "stays") == "value");
  CHECK(f.Collect().flushed == 0);
}

}  // namespace
}  // namespace ers::sim
