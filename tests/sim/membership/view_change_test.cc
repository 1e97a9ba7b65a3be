// Changes of the view that meet another one, or whose record is lost again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 6;

struct Client : SimClient {
  Client(World& world, const std::string& servers, const std::string& name)
      : SimClient(
            world, servers, name,
            {.scheme = {SchemeKind::kErs2, 2, 1, 3}, .inline_below = 4096}) {}

  // What came of it: empty as long as it is not over.
  using Outcome = std::shared_ptr<std::optional<Status>>;
  net::Task<void> RunPut(std::string key, Outcome outcome) {
    static constexpr std::string_view kValue = "value";
    const PutOptions options;
    const Result<ObjectInfo> put =
        co_await store.Put(key, std::as_bytes(std::span(kValue)), options);
    *outcome = put ? Status() : put.error();
  }
  net::Task<void> RunFlush(Outcome outcome) {
    *outcome = co_await store.Flush(1);
  }
  Outcome StartPut(const std::string& key = "key") {
    auto outcome = std::make_shared<std::optional<Status>>();
    net::Spawn(RunPut(key, outcome));
    return outcome;
  }
  Outcome StartFlush() {
    auto outcome = std::make_shared<std::optional<Status>>();
    net::Spawn(RunFlush(outcome));
    return outcome;
  }
};

struct Fixture {
  bool Ends(const Client::Outcome& outcome) {
    return world.RunUntil([&] { return outcome->has_value(); }, seconds(100));
  }
  bool Succeeds(const Client::Outcome& outcome) {
    return Ends(outcome) && (*outcome)->ok();
  }
  void Wait(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  std::string Record() {
    return world.servers()[0]->items().Find(store::kViewKey)->value;
  }
  // As if those that took a later one had died.
  void PutBack(const std::string& record) {
    for (const auto& server : world.servers()) {
      ModelItem item;
      item.value = record;
      server->items().Put(store::kViewKey, std::move(item));
    }
  }

  World world{7};
  const std::string servers = world.AddServers(kServers);
};

// One process flushes; the other has a write on its way to a server that stands
// still, and so cannot take the flush's view as it is.
// Invariant V1.
TEST_CASE("no process goes by a view that another one could not take") {
  Fixture f;
  Client flusher(f.world, f.servers, "flusher");
  Client writer(f.world, f.servers, "writer");
  REQUIRE(f.Succeeds(flusher.StartPut()));
  REQUIRE(f.Succeeds(writer.StartPut()));
  const std::shared_ptr<const store::View> view = writer.session.view();
  const store::Replicas replicas =
      store::ReplicasOf(*view, writer.session.ring(), "new");
  const auto first = static_cast<std::size_t>(replicas.members.front());
  SimServer& stopped = *f.world.servers()[first];

  // Once the flush is on all servers the writer begins; behind its read of the
  // first replica that one stops, with the writer's commit unread.
  int took = 0;
  bool stops = false;
  Client::Outcome put;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&](const SimConnection& connection,
                             const AppliedCommand& command) {
      if (&connection.process() == &flusher.process) {
        const bool stores =
            command.key == store::kViewKey && command.verb == "cas";
        if (!stores || ++took != kServers) return;
        f.world.After({}, [&] { put = writer.StartPut("new"); });
      }
    };
  }
  const auto start_put = stopped.on_applied;
  stopped.on_applied = [&](const SimConnection& connection,
                           const AppliedCommand& command) {
    start_put(connection, command);
    const bool reads = put && command.key == "new" && !stops &&
                       &connection.process() == &writer.process;
    if (!reads) return;
    stops = true;
    f.world.After({}, [&] { stopped.Stall(); });
  };
  const std::uint64_t before = view->epoch;
  const Client::Outcome flush = flusher.StartFlush();
  bool too_early = false;
  const bool ended = f.world.RunUntil(
      [&] {
        const bool under_it =
            stops && flusher.epoch() > before && flusher.HoldsLease();
        // Whatever was sent before may land there still.
        const auto state = flusher.session.view()->members[first].state;
        too_early |= under_it && state != MemberState::kDown;
        return flush->has_value() && put && put->has_value();
      },
      seconds(60));
  for (const auto& server : f.world.servers()) server->on_applied = nullptr;
  REQUIRE(ended);
  REQUIRE(stops);
  CHECK_FALSE(too_early);
  CHECK((*flush)->ok());
  CHECK((*put)->ok());
  CHECK(flusher.epoch() == writer.epoch());
  stopped.Continue();
  f.Wait(seconds(3));
  CHECK(f.Succeeds(flusher.StartPut()));
}

// Invariant V3.
TEST_CASE(
    "a process that goes by a view has it stored for those that need it") {
  const bool rests = GENERATE(true, false);
  CAPTURE(rests);
  Fixture f;
  Client first(f.world, f.servers, "first");
  REQUIRE(f.Succeeds(first.StartPut()));
  const std::string earlier = f.Record();
  REQUIRE(f.Succeeds(first.StartFlush()));
  // Its lease runs out, or goes on.
  if (rests) f.Wait(seconds(3));
  REQUIRE(f.Succeeds(rests ? first.StartFlush() : first.StartPut()));
  if (rests) f.Wait(seconds(3));
  f.PutBack(earlier);
  Client second(f.world, f.servers, "second");
  const Client::Outcome put = second.StartPut();
  for (int i = 0; i < 10 && !put->has_value(); ++i) {
    REQUIRE(f.Succeeds(first.StartPut()));
    f.Wait(milliseconds(300));
  }
  REQUIRE(put->has_value());
  CHECK((*put)->ok());
  CHECK(second.epoch() == first.epoch());
}

TEST_CASE("a process that has spread a view does not forget it") {
  Fixture f;
  Client first(f.world, f.servers, "first");
  Client second(f.world, f.servers, "second");
  REQUIRE(f.Succeeds(first.StartPut()));
  REQUIRE(f.Succeeds(second.StartPut()));
  const std::string earlier = f.Record();
  second.process.PauseFor(seconds(4));
  const Client::Outcome flush = first.StartFlush();
  f.Wait(seconds(1));
  REQUIRE_FALSE(flush->has_value());
  f.PutBack(earlier);
  // It waits for the other one, which cannot find what it waits for.
  f.Wait(seconds(3));
  Client::Outcome put = second.StartPut();
  while (!flush->has_value()) {
    REQUIRE(f.Ends(put));
    put = second.StartPut();
  }
  REQUIRE(f.Succeeds(first.StartPut()));
  REQUIRE(f.Ends(put));
  REQUIRE(f.Succeeds(second.StartPut()));
  CHECK(first.epoch() == second.epoch());
}

// A second server falls silent while the first one is taken out.
TEST_CASE("a view that too few would take is stored on no server") {
  const bool dies = GENERATE(true, false);
  CAPTURE(dies);
  Fixture f;
  Client client(f.world, f.servers, "client");
  REQUIRE(f.Succeeds(client.StartPut()));
  const std::string record = f.Record();
  std::vector<int> others;
  const store::Replicas replicas =
      store::ReplicasOf(*client.session.view(), client.session.ring(), "key");
  for (int i = 0; i < kServers; ++i) {
    const auto& of = replicas.members;
    if (std::find(of.begin(), of.end(), i) == of.end()) others.push_back(i);
  }
  f.world.servers()[static_cast<std::size_t>(others[0])]->Crash();
  SimServer& second = *f.world.servers()[static_cast<std::size_t>(others[1])];
  second.Stall();

  const Status left = client.MarkDown(others[0]);
  CHECK(left.code() == StatusCode::kUnavailable);
  CAPTURE(left.message());
  CHECK(left.message().find(second.name()) != std::string::npos);
  if (dies) second.Crash();
  for (const auto& server : f.world.servers()) {
    if (!server->up()) continue;
    CHECK(server->items().Find(store::kViewKey)->value == record);
  }
  // What needs neither is read for as long as they are away.
  for (int i = 0; i < 5; ++i) {
    f.Wait(seconds(4));
    const auto read = net::SyncWait(client.process, client.store.Info("key"));
    CHECK(read.has_value());
  }
}

constexpr std::uint64_t kHourUs = 3'600'000'000;

void PutRecord(SimServer& server, const store::View& view) {
  ModelItem record;
  record.value = store::EncodeView(view);
  server.items().Put(store::kViewKey, std::move(record));
}

// Its maker knew the view before only, met another one that was cut off, and
// went beyond that; then it died.
// Invariant V9.
TEST_CASE("a view that was made of an earlier one takes nothing back") {
  const std::uint64_t ahead = GENERATE(1, 2, 5);
  CAPTURE(ahead);
  Fixture f;
  Client client(f.world, f.servers, "client");
  REQUIRE(f.Succeeds(client.StartPut()));
  store::View begun = *client.session.view();
  REQUIRE(
      net::SyncWait(client.process, client.store.Flush(store::kAtOnce)).ok());
  const store::View flushed = *client.session.view();
  begun.epoch += ahead;
  const std::int64_t now = client.session.WallMicros();
  REQUIRE(begun.Flush(static_cast<std::uint64_t>(now) + kHourUs, now).ok());
  PutRecord(*f.world.servers()[3], begun);

  REQUIRE(client.MarkDown(1).ok());
  const std::shared_ptr<const store::View> view = client.session.view();
  CHECK(view->members[1].state == MemberState::kDown);
  CHECK(view->epoch > std::max(begun.epoch, flushed.epoch));
  CHECK(view->flush_mark == flushed.flush_mark);
  CHECK(view->flushes == flushed.flushes);
  // More than f members have not heard of it: it never was in force.
  CHECK(view->flushed_before == 0);
  const auto found = net::SyncWait(client.process, client.store.Info("key"));
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().code() == StatusCode::kNotFound);
}

// Invariant V9.
TEST_CASE("of two records that may be in force neither is passed over") {
  const std::uint64_t ahead = GENERATE(0, 1, 2);
  const bool flushed_first = GENERATE(true, false);
  CAPTURE(ahead, flushed_first);
  World world(8);
  const std::string servers = world.AddServers(kServers);
  store::View one;
  store::View other;
  std::int64_t now = 0;
  {
    SimClient maker(world, servers, "maker", {}, /*max_failures=*/2);
    REQUIRE(maker.Put().ok());
    one = other = *maker.session.view();
    now = maker.session.WallMicros();
  }
  one.FlushAll(7, now);
  REQUIRE(other.Flush(static_cast<std::uint64_t>(now) + kHourUs, now).ok());
  (flushed_first ? one : other).epoch += 1;
  (flushed_first ? other : one).epoch += 1 + ahead;
  for (std::size_t i : {0, 1}) PutRecord(*world.servers()[i], one);
  for (std::size_t i : {2, 3}) PutRecord(*world.servers()[i], other);
  for (std::size_t i : {4, 5}) world.servers()[i]->Crash();

  SimClient newcomer(world, servers, "newcomer", {}, /*max_failures=*/2);
  REQUIRE(newcomer.Put().ok());
  const std::shared_ptr<const store::View> view = newcomer.session.view();
  CHECK(view->epoch > std::max(one.epoch, other.epoch));
  CHECK(view->flush_mark == one.flush_mark);
  CHECK(view->flushes == one.flushes);
  CHECK(view->flushed_before == other.flushed_before);
}

}  // namespace
}  // namespace ers::sim
