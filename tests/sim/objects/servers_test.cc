// What a client says of the servers: a restart of one after the other goes by
// it, so it must be true at that moment, whatever was noticed before.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/upkeep/backfill.h"

namespace ers::sim {
namespace {

constexpr int kServers = 6;
constexpr std::size_t kLost = 2;

// Those that are in sync, by their numbers; {-1}: it fails.
std::vector<int> InSync(SimClient& client) {
  const auto info = net::SyncWait(client.process, client.store.Servers());
  if (!info) return {-1};
  std::vector<int> found;
  for (std::size_t i = 0; i < info->servers.size(); ++i) {
    const ServerInfo& server = info->servers[i];
    const bool in_sync =
        server.reachable && server.state == MemberState::kInSync;
    if (in_sync) found.push_back(static_cast<int>(i));
  }
  return found;
}

const std::vector<int> kAll = {0, 1, 2, 3, 4, 5};
const std::vector<int> kOthers = {0, 1, 3, 4, 5};

void Restart(World& world, std::size_t server) {
  world.servers()[server]->Crash();
  world.servers()[server]->Restart();
}

// What a daemon does every half second.
void MissAndBackfill(SimClient& client) {
  net::SyncWait(client.process, [](SimClient& one) -> net::Task<bool> {
    co_await store::MissRestarted(one.session);
    co_return true;
  }(client));
  const std::vector<int> all;
  const store::BackfillTerms terms;
  const auto filled = net::SyncWait(
      client.process, store::Backfill(client.session, all, terms));
  REQUIRE(filled.has_value());
}

TEST_CASE("a server that was restarted is in sync only once it is backfilled") {
  World world(31);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  REQUIRE(InSync(client) == kAll);
  const bool noticed = GENERATE(false, true);
  Restart(world, kLost);
  // Asked at once, with nothing in between that could have noticed it.
  CHECK(InSync(client) == kOthers);
  if (noticed) {
    REQUIRE(client.MarkDown(kLost).ok());
    CHECK(InSync(client) == kOthers);
  }
  while (InSync(client) == kOthers) MissAndBackfill(client);
  CHECK(InSync(client) == kAll);
  const auto joined = client.session.view()->members[kLost].joined;
  CHECK(joined > 0);
}

TEST_CASE("a server that was restarted answers, though what it had is gone") {
  World world(35);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  Restart(world, kLost);
  REQUIRE(client.MarkDown(kLost).ok());
  const auto lost = [&client] {
    return net::SyncWait(client.process, client.store.Servers())
        ->servers[kLost];
  };
  CHECK(lost().answers);
  CHECK_FALSE(lost().reachable);
  CHECK_FALSE(lost().version.empty());
  CHECK(lost().item_size_max > 0);
  world.servers()[kLost]->Crash();
  CHECK_FALSE(lost().answers);
}

TEST_CASE("a process that has rested says what others have found meanwhile") {
  World world(32);
  const std::string servers = world.AddServers(kServers);
  SimClient one(world, servers, "one");
  SimClient two(world, servers, "two");
  REQUIRE(one.Put().ok());
  REQUIRE(InSync(two) == kAll);
  REQUIRE(one.MarkDown(kLost).ok());
  CHECK(InSync(two) == kOthers);
}

TEST_CASE("a server whose memory was emptied while it ran is not in sync") {
  World world(33);
  SimClient client(world, world.AddServers(kServers), "one");
  REQUIRE(client.Put().ok());
  REQUIRE(world.servers()[kLost]->Evict(store::kBootKey));
  CHECK(InSync(client) == kOthers);
  // It comes back by itself.
  while (InSync(client) == kOthers) MissAndBackfill(client);
  CHECK(InSync(client) == kAll);
}

TEST_CASE(
    "where nothing was ever stored nothing is missing, and none is made") {
  World world(34);
  SimClient client(world, world.AddServers(kServers), "one");
  CHECK(InSync(client) == kAll);
  world.servers()[kLost]->Crash();
  CHECK(InSync(client) == kOthers);
  CHECK(client.session.view() == nullptr);
  world.servers()[0]->Crash();
  CHECK(InSync(client) == std::vector<int>{-1});
}

}  // namespace
}  // namespace ers::sim
