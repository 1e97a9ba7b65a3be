// More than f servers that lose their memory, and return.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/format/participant.h"
#include "store/membership/accept_loss.h"
#include "store/membership/view_changer.h"
#include "store/support/wakeup.h"
#include "store/upkeep/backfill.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 6;

void Restart(World& world, const std::vector<std::size_t>& servers) {
  for (const std::size_t server : servers) {
    world.servers()[server]->Crash();
    world.servers()[server]->Restart();
  }
}

// What a daemon does, until the view has changed or so much time is over.
void ScanFor(SimClient& client, Duration patience) {
  const std::uint64_t epoch = client.epoch();
  const TimePoint end = client.process.Now() + patience;
  while (client.epoch() == epoch && client.process.Now() < end) {
    net::SyncWait(client.process, [](SimClient& one) -> net::Task<bool> {
      const auto nap = store::Wakeup::New(one.process);
      (void)co_await nap->Wait(milliseconds(100));
      co_await store::MissRestarted(one.session);
      co_return true;
    }(client));
  }
}

StatusCode Get(SimClient& client, std::string_view key = "key") {
  Value value;
  const auto got = net::SyncWait(client.process, client.store.Get(key, value));
  return got ? StatusCode::kOk : got.error().code();
}

std::string KeyOf(int number) { return fmt::format("blocks{}", number); }

// An object that is too long for its manifest.
Status PutBlocks(SimClient& client, int number) {
  const std::string value(20'000, 'x');
  const auto put = net::SyncWait(
      client.process,
      client.store.Put(KeyOf(number), std::as_bytes(std::span(value)), {}));
  return put ? Status() : put.error();
}

TEST_CASE("where all have lost their memory all goes on, empty, at once") {
  World world(11);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  Restart(world, {0, 1, 2, 3, 4, 5});
  ScanFor(client, seconds(2));
  CHECK(client.session.view()->AllInSync());
  CHECK(Get(client) == StatusCode::kNotFound);
  CHECK(client.Put().ok());
  CHECK(Get(client) == StatusCode::kOk);
}

// Invariant R6.
TEST_CASE("what more than f others have kept is there, once leases are over") {
  World world(12);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  const std::vector<int> replicas =
      store::ReplicasOf(*client.session.view(), client.session.ring(), "key")
          .members;
  std::vector<std::size_t> lost;
  for (std::size_t i = 0; lost.size() < 2; ++i) {
    const bool replica = static_cast<int>(i) == replicas[0] ||
                         static_cast<int>(i) == replicas[1];
    if (!replica) lost.push_back(i);
  }
  const TimePoint begun = client.process.Now();
  Restart(world, lost);
  ScanFor(client, seconds(20));
  CHECK(client.process.Now() - begun >= store::kGoneAfter);
  CHECK(client.process.Now() - begun < seconds(10));
  const std::shared_ptr<const store::View> view = client.session.view();
  for (const std::size_t server : lost) {
    CHECK(view->members[server].lacking);
    CHECK(view->members[server].shown_state() == MemberState::kBackfilling);
  }
  CHECK(view->NotInSync() == 0);
  CHECK(Get(client) == StatusCode::kOk);
  const std::vector<int> all;
  const store::BackfillTerms terms;
  const auto filled = net::SyncWait(
      client.process, store::Backfill(client.session, all, terms));
  REQUIRE(filled.has_value());
  CHECK(filled->members.size() == lost.size());
  CHECK(client.session.view()->AllInSync());
}

TEST_CASE("what is lost is a miss also when another server is silent later") {
  World world(15);
  const std::string servers = world.AddServers(kServers);
  SimClient client(world, servers, "one");
  constexpr int kObjects = 24;
  for (int i = 0; i < kObjects; ++i) REQUIRE(PutBlocks(client, i).ok());
  Restart(world, {0, 1, 2});
  ScanFor(client, seconds(20));
  const std::vector<int> all;
  const store::BackfillTerms terms;
  const auto filled = net::SyncWait(
      client.process, store::Backfill(client.session, all, terms));
  REQUIRE(filled.has_value());
  CHECK(filled->lost > 0);
  std::vector<StatusCode> found;
  for (int i = 0; i < kObjects; ++i) found.push_back(Get(client, KeyOf(i)));
  CHECK(std::count(found.begin(), found.end(), StatusCode::kOk) > 0);
  CHECK(std::count(found.begin(), found.end(), StatusCode::kNotFound) > 0);
  world.servers()[0]->Crash();
  for (int i = 0; i < kObjects; ++i) {
    INFO(KeyOf(i));
    CHECK(Get(client, KeyOf(i)) == found[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("another process goes on in the view that the first one has made") {
  World world(13);
  const std::string servers = world.AddServers(kServers);
  SimClient first(world, servers, "first");
  SimClient second(world, servers, "second");
  REQUIRE(first.Put().ok());
  REQUIRE(second.Put().ok());
  Restart(world, {0, 1, 2, 3, 4, 5});
  ScanFor(first, seconds(2));
  ScanFor(second, seconds(2));
  CHECK(first.epoch() == second.epoch());
  CHECK(first.Put().ok());
  CHECK(Get(second) == StatusCode::kOk);
}

TEST_CASE("one that was backfilled before the loss may be needed behind it") {
  World world(17);
  const std::string servers = world.AddServers(4);
  SimClient first(world, servers, "first");
  SimClient second(world, servers, "second");
  REQUIRE(first.Put().ok());
  REQUIRE(first.MarkDown(3).ok());
  REQUIRE(net::SyncWait(first.process, store::BeginBackfill(first.session, 3))
              .ok());
  REQUIRE(second.Put().ok());
  REQUIRE(second.epoch() == first.epoch());
  REQUIRE(second.session.view()->members[3].state == MemberState::kBackfilling);
  Restart(world, {0, 1, 2});
  ScanFor(first, seconds(20));
  REQUIRE(first.session.view()->AllInSync());
  // The others are as many as must take a view.
  world.servers()[1]->Crash();
  REQUIRE(first.MarkDown(1).ok());
  ScanFor(second, seconds(20));
  CHECK(second.epoch() == first.epoch());
  CHECK(second.Put().ok());
}

TEST_CASE(
    "a process that comes after the loss goes on, too, and without a daemon") {
  World world(14);
  const std::string servers = world.AddServers(kServers);
  {
    SimClient old(world, servers, "old");
    REQUIRE(old.Put().ok());
  }
  Restart(world, {0, 1, 2});
  SimClient newcomer(world, servers, "newcomer");
  const TimePoint begun = newcomer.process.Now();
  Status status = newcomer.Begin();
  while (!status.ok() && newcomer.process.Now() - begun < seconds(20)) {
    CHECK(status.code() == StatusCode::kUnavailable);
    status = newcomer.Begin();
  }
  CHECK(status.ok());
  CHECK(newcomer.process.Now() - begun < seconds(10));
  CHECK(newcomer.Put().ok());
}

// Invariant V5.
TEST_CASE("no loop of a process goes by a memory that its view does not know") {
  World world(16);
  const std::string servers = world.AddServers(kServers);
  {
    SimClient old(world, servers, "old");
    REQUIRE(old.Put().ok());
  }
  Restart(world, {0});
  SimClient newcomer(world, servers, "newcomer");
  store::Session other(newcomer.process, newcomer.cluster, 16);
  // It connects before the process knows a view.
  for (std::size_t i = 2; i < kServers; ++i) {
    world.servers()[i]->SetReachable(false);
  }
  CHECK_FALSE(net::SyncWait(newcomer.process, store::EnsureView(other)).ok());
  REQUIRE(other.link(0).state() == net::ServerLink::State::kUp);
  for (const auto& server : world.servers()) server->SetReachable(true);
  const TimePoint begun = newcomer.process.Now();
  while (!newcomer.Begin().ok()) {
    REQUIRE(newcomer.process.Now() - begun < seconds(20));
  }
  REQUIRE(other.view());
  CHECK(other.link(0).state() != net::ServerLink::State::kUp);
}

TEST_CASE("a view that was never made stands in the way of none after a loss") {
  World world(17);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  // Its maker has died, with another server out than will be lost.
  store::View begun = *client.session.view();
  ++begun.epoch;
  begun.members[2].state = MemberState::kDown;
  ModelItem record = *world.servers()[3]->items().Find(store::kViewKey);
  record.value = store::EncodeView(begun);
  world.servers()[3]->items().Put(std::string(store::kViewKey), record);
  Restart(world, {0});
  ScanFor(client, seconds(20));
  CHECK(client.epoch() > begun.epoch);
  // Those that took the next view first do not know it: it is no part of that.
  const std::shared_ptr<const store::View> view = client.session.view();
  CHECK(view->members[0].state == MemberState::kDown);
  CHECK(view->members[2].state == MemberState::kInSync);
  CHECK(client.Put().ok());
}

TEST_CASE("what the entry of a killed process says holds up no change") {
  World world(18);
  const std::string servers = world.AddServers(kServers);
  SimClient client(world, servers, "one");
  REQUIRE(client.Put().ok());
  {
    auto killed = std::make_shared<SimClient>(world, servers, "killed");
    REQUIRE(killed->Begin().ok());
    killed->process.Kill();
    ParkForever(std::move(killed));
  }
  // A view beyond that which the others will make: it was lost with them.
  ModelItems& kept = world.servers()[0]->items();
  for (const std::string& key : kept.LiveKeys()) {
    const Result<store::Entry> there =
        store::DecodeEntry(kept.Find(key)->value);
    if (!there || there->id == client.cluster->lease.Self(0).id) continue;
    store::Entry entry = *there;
    entry.terms.epoch += 2;
    ModelItem item = *kept.Find(key);
    item.value = store::EncodeEntry(entry);
    kept.Put(key, std::move(item));
  }
  Restart(world, {1, 2, 3, 4, 5});
  const TimePoint begun = world.now();
  ScanFor(client, seconds(10));
  CHECK(client.Put().ok());
  CHECK(world.now() - begun < seconds(15));
}

// `servers`: those of the cluster, 10.0.0.0 and on; as many successors.
std::vector<Successor> SuccessorsOf(World& world,
                                    const std::vector<std::size_t>& dead) {
  std::vector<Successor> successors;
  for (const std::size_t server : dead) {
    const std::string name = fmt::format("10.0.1.{}:11211", server);
    world.AddServer(name);
    successors.push_back({world.servers()[server]->name(), name});
  }
  return successors;
}

Status Recover(SimClient& client, std::vector<Successor> successors,
               Loss* shown = nullptr) {
  const auto agree = [shown](const Loss& loss) {
    if (shown != nullptr) *shown = loss;
    return true;
  };
  return net::SyncWait(
      client.process,
      store::AcceptLoss(client.session, std::move(successors), agree));
}

void Crash(World& world, const std::vector<std::size_t>& servers) {
  for (const std::size_t server : servers) world.servers()[server]->Crash();
}

// Servers that are not replicas of "key", from the first on.
std::vector<std::size_t> NoReplicas(SimClient& client, std::size_t count) {
  const std::vector<int> replicas =
      store::ReplicasOf(*client.session.view(), client.session.ring(), "key")
          .members;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; others.size() < count; ++i) {
    if (std::find(replicas.begin(), replicas.end(), static_cast<int>(i)) ==
        replicas.end()) {
      others.push_back(i);
    }
  }
  return others;
}

TEST_CASE(
    "a person gives dead servers up, and what others have kept is there") {
  World world(21);
  const std::string servers = world.AddServers(kServers);
  SimClient client(world, servers, "one");
  SimClient other(world, servers, "other");
  REQUIRE(client.Put().ok());
  REQUIRE(other.Put().ok());
  const std::vector<std::size_t> dead = NoReplicas(client, 2);
  Crash(world, dead);
  ScanFor(client, seconds(8));
  // By itself nothing goes on: they may be alive for others.
  const std::uint64_t before = client.epoch();
  CHECK(before == other.epoch());
  // A third process, which has met none of them.
  SimClient person(world, servers, "person");
  const TimePoint begun = person.process.Now();
  Loss loss;
  REQUIRE(Recover(person, SuccessorsOf(world, dead), &loss).ok());
  CHECK(person.process.Now() - begun >= store::kGoneAfter);
  CHECK(loss.silent.size() == 2);
  CHECK(loss.kept == kServers - 2);
  CHECK_FALSE(loss.all_is_lost);
  for (SimClient* one : {&client, &other}) {
    ScanFor(*one, seconds(8));
    CHECK(one->epoch() > before);
    CHECK(Get(*one) == StatusCode::kOk);
    CHECK(one->Put().ok());
  }
  // The dead come back with all that they had: no process asks them.
  for (const std::size_t server : dead) world.servers()[server]->Restart();
  CHECK(Get(client) == StatusCode::kOk);
  SimClient late(world, servers, "late");
  REQUIRE(late.Begin().ok());
  CHECK(late.epoch() >= client.epoch());
  CHECK(Get(late) == StatusCode::kOk);
}

// Invariant R5.
TEST_CASE("where too few have kept what they had nothing of it counts") {
  World world(22);
  const std::string servers = world.AddServers(kServers);
  SimClient client(world, servers, "one");
  REQUIRE(client.Put().ok());
  const std::vector<int> replicas =
      store::ReplicasOf(*client.session.view(), client.session.ring(), "key")
          .members;
  // One that has it stays: a later view without it may be lost with the rest.
  std::vector<std::size_t> dead;
  for (std::size_t i = 0; i < kServers; ++i) {
    if (static_cast<int>(i) != replicas[0]) dead.push_back(i);
  }
  Crash(world, dead);
  Loss loss;
  SimClient person(world, servers, "person");
  REQUIRE(Recover(person, SuccessorsOf(world, dead), &loss).ok());
  CHECK(loss.all_is_lost);
  CHECK(Get(person) == StatusCode::kNotFound);
  CHECK(person.Put().ok());
}

TEST_CASE(
    "all is lost, some never return, and only processes that run know it") {
  World world(24);
  const std::string servers = world.AddServers(kServers);
  SimClient client(world, servers, "one");
  REQUIRE(client.Put().ok());
  Crash(world, {0, 1, 2, 3, 4, 5});
  for (const std::size_t server : {2, 3, 4, 5}) {
    world.servers()[server]->Restart();
  }
  ScanFor(client, seconds(8));
  const std::uint64_t before = client.epoch();
  const std::vector<Successor> successors = SuccessorsOf(world, {0, 1});
  SimClient stranger(world, servers, "stranger", {}, 0);
  const Status refused = Recover(stranger, successors);
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK(refused.message().find("--max-failures") != std::string::npos);
  Loss loss;
  SimClient person(world, servers, "person");
  CHECK(Recover(person, {successors[0]}).code() ==
        StatusCode::kInvalidArgument);
  REQUIRE(Recover(person, successors, &loss).ok());
  CHECK(loss.all_is_lost);
  CHECK(loss.silent.size() == 2);
  CHECK(loss.lost.size() == 4);
  CHECK(person.session.view()->AllInSync());
  ScanFor(client, seconds(8));
  CHECK(client.epoch() > before);
  CHECK(Get(client) == StatusCode::kNotFound);
  CHECK(client.Put().ok());
  CHECK(Get(person) == StatusCode::kOk);
  // The dead come back: no process asks them.
  for (const std::size_t server : {0, 1}) world.servers()[server]->Restart();
  SimClient late(world, servers, "late");
  REQUIRE(late.Begin().ok());
  CHECK(late.epoch() == client.epoch());
  CHECK(Get(late) == StatusCode::kOk);
}

// Invariant R4.
TEST_CASE("what a person asks for is refused where it loses for nothing") {
  World world(23);
  const std::string servers = world.AddServers(kServers);
  SimClient client(world, servers, "one");
  REQUIRE(client.Put().ok());
  const std::vector<Successor> successors = SuccessorsOf(world, {0, 1, 2});
  Crash(world, {0});
  // ersctl replace does that.
  CHECK(Recover(client, {successors[0]}).code() ==
        StatusCode::kInvalidArgument);
  Crash(world, {1});
  // A server that is left out may hold what others lost.
  const Status partly = Recover(client, {successors[0]});
  CHECK(partly.code() == StatusCode::kInvalidArgument);
  CHECK(partly.message().find(successors[1].old_server) != std::string::npos);
  // A server that answers has blocks.
  const Status living = Recover(client, successors);
  CHECK(living.code() == StatusCode::kInvalidArgument);
  CHECK(living.message().find(successors[2].old_server) != std::string::npos);
  // A successor has another life behind it.
  const std::vector<Successor> twice = {
      successors[0], {successors[1].old_server, successors[0].new_server}};
  CHECK(Recover(client, twice).code() == StatusCode::kInvalidArgument);
  const auto refuses = [](const Loss&) { return false; };
  const Status refused =
      net::SyncWait(client.process,
                    store::AcceptLoss(client.session,
                                      {successors[0], successors[1]}, refuses));
  CHECK(refused.code() == StatusCode::kConflict);
  CHECK(Recover(client, {successors[0], successors[1]}).ok());
  // Again: it is done already, and no more are out.
  CHECK(Recover(client, {successors[0], successors[1]}).code() ==
        StatusCode::kInvalidArgument);
  CHECK(client.Put().ok());
}

}  // namespace
}  // namespace ers::sim
