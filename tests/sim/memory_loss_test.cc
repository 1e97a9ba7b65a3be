// More than M servers that lose their memory, and return.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/sim_client.h"
#include "sim/sim_server.h"
#include "sim/sim_world.h"
#include "store/fill_members.h"
#include "store/view_changer.h"
#include "store/wakeup.h"

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
void LookFor(SimClient& client, Duration patience) {
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

StatusCode Get(SimClient& client) {
  Value value;
  const auto got =
      net::SyncWait(client.process, client.store.Get("key", value));
  return got ? StatusCode::kOk : got.error().code();
}

TEST_CASE("where all have lost their memory all goes on, empty, at once") {
  World world(11);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  Restart(world, {0, 1, 2, 3, 4, 5});
  LookFor(client, seconds(2));
  CHECK(client.session.view()->AllInSync());
  CHECK(Get(client) == StatusCode::kNotFound);
  CHECK(client.Put().ok());
  CHECK(Get(client) == StatusCode::kOk);
}

TEST_CASE("what more than M others have kept is there, once leases are over") {
  World world(12);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  const std::vector<int> homes =
      store::HomesOf(*client.session.view(), client.session.ring(), "key")
          .members;
  std::vector<std::size_t> lost;
  for (std::size_t i = 0; lost.size() < 2; ++i) {
    const bool home =
        static_cast<int>(i) == homes[0] || static_cast<int>(i) == homes[1];
    if (!home) lost.push_back(i);
  }
  const TimePoint begun = client.process.Now();
  Restart(world, lost);
  LookFor(client, seconds(20));
  CHECK(client.process.Now() - begun >= store::kGoneAfter);
  CHECK(client.process.Now() - begun < seconds(10));
  const std::shared_ptr<const store::View> view = client.session.view();
  for (const std::size_t server : lost) {
    CHECK(view->members[server].lacking);
    CHECK(view->members[server].shown_state() == MemberState::kFilling);
  }
  CHECK(view->NotFull() == 0);
  CHECK(Get(client) == StatusCode::kOk);
  const std::vector<int> all;
  const store::FillMembersTerms terms;
  const auto filled = net::SyncWait(
      client.process, store::FillMembers(client.session, all, terms));
  REQUIRE(filled.has_value());
  CHECK(filled->members.size() == lost.size());
  CHECK(client.session.view()->AllInSync());
}

TEST_CASE("another process goes on in the view that the first one has made") {
  World world(13);
  const std::string servers = world.AddServers(kServers);
  SimClient first(world, servers, "first");
  SimClient second(world, servers, "second");
  REQUIRE(first.Put().ok());
  REQUIRE(second.Put().ok());
  Restart(world, {0, 1, 2, 3, 4, 5});
  LookFor(first, seconds(2));
  LookFor(second, seconds(2));
  CHECK(first.epoch() == second.epoch());
  CHECK(first.Put().ok());
  CHECK(Get(second) == StatusCode::kOk);
}

TEST_CASE("who comes after the loss goes on, too, and without a daemon") {
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

}  // namespace
}  // namespace ers::sim
