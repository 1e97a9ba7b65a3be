// Processes that come while a change of the view was cut off half way.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::seconds;

constexpr int kServers = 6;
constexpr std::size_t kMeeting = 2;  // the server that the newcomer reaches
constexpr std::size_t kLeaving = 5;

// What a killed process had stored, and had reported to no other.
void LeaveCutOff(World& world, store::View view) {
  ++view.epoch;
  view.members[kLeaving].state = MemberState::kDown;
  for (std::size_t i = 0; i < kServers; ++i) {
    if (i == kLeaving) continue;
    ModelItem item;
    item.value = store::EncodeView(view);
    world.servers()[i]->items().Put(store::kViewKey, std::move(item));
  }
}

// Invariant V3.
TEST_CASE(
    "a process that ends another one's change asks as many members as it "
    "would") {
  World world(5);
  const std::string servers = world.AddServers(kServers);
  {
    SimClient first(world, servers, "first");
    REQUIRE(first.Put().ok());
  }
  // It has its line on all members but one.
  SimClient old(world, servers, "old");
  world.servers()[kMeeting]->SetReachableFrom(old.process, false);
  REQUIRE(old.Begin().ok());
  LeaveCutOff(world, *old.session.view());
  // The newcomer reads the view everywhere, and reaches that one alone then.
  SimClient newcomer(world, servers, "newcomer");
  const auto reach = [&](bool all) {
    for (std::size_t i = 0; i < kServers; ++i) {
      world.servers()[i]->SetReachableFrom(newcomer.process,
                                           all || i == kMeeting);
    }
  };
  bool cut = false;
  for (const auto& server : world.servers()) {
    server->on_applied = [&](const SimConnection& connection,
                             const AppliedCommand& command) {
      const bool joins = &connection.process() == &newcomer.process &&
                         command.key == store::kParticipantsKey;
      if (joins && !cut) world.After({}, [&reach] { reach(false); });
      cut |= joins;
    };
  }
  bool ended = false;
  const auto begin = [](SimClient& client, bool& done) -> net::Task<void> {
    (void)co_await store::EnsureView(client.session);
    done = true;
  };
  net::Spawn(begin(newcomer, ended));
  // The other one's heartbeats go on, and reach no server that knows better.
  bool both = false;
  for (int i = 0; i < 40 && !ended; ++i) {
    world.RunUntil([&] { return ended; }, std::chrono::milliseconds(250));
    const Status alive = old.Begin();
    const auto epoch = old.session.view()->epoch;
    both |= alive.ok() && old.HoldsLease() && newcomer.HoldsLease() &&
            epoch != newcomer.session.view()->epoch;
  }
  CHECK(cut);
  CHECK_FALSE(both);
  CHECK_FALSE(newcomer.HoldsLease());
  // Once it reaches them all it begins, and the other one has followed.
  for (const auto& server : world.servers()) server->on_applied = nullptr;
  reach(true);
  world.servers()[kMeeting]->SetReachableFrom(old.process, true);
  REQUIRE(world.RunUntil([&] { return ended; }, seconds(60)));
  world.RunUntil([] { return false; }, seconds(6));
  REQUIRE(newcomer.Put().ok());
  REQUIRE(old.Put().ok());
  CHECK(old.session.view()->epoch == newcomer.session.view()->epoch);
}

// The other process cannot go on to the next view, and no process has to wait
// for that. Invariant R4.
TEST_CASE(
    "a start while more than f are silent fails with the reason, and soon") {
  World world(6);
  const std::string servers = world.AddServers(kServers);
  SimClient old(world, servers, "old");
  REQUIRE(old.Put().ok());
  world.servers()[0]->Crash();
  world.servers()[0]->Restart();
  world.servers()[1]->Crash();
  // It misses one, as far as it can, and goes on giving heartbeats.
  REQUIRE_FALSE(old.MarkDown(0).ok());
  SimClient newcomer(world, servers, "newcomer");
  const TimePoint begun = newcomer.process.Now();
  std::optional<Status> outcome;
  const auto begin = [](SimClient& client,
                        std::optional<Status>& status) -> net::Task<void> {
    status = co_await store::EnsureView(client.session);
  };
  net::Spawn(begin(newcomer, outcome));
  while (!outcome && newcomer.process.Now() - begun < seconds(60)) {
    world.RunUntil([&] { return outcome.has_value(); },
                   std::chrono::milliseconds(250));
    (void)old.Begin();
  }
  REQUIRE(outcome);
  CHECK(outcome->code() == StatusCode::kUnavailable);
  const std::string why(outcome->message());
  CAPTURE(why);
  // As a server that keeps a view from coming into force, or as one that is
  // out by now.
  CHECK(why.find("10.0.0.1:11211") != std::string::npos);
  CHECK(why.find("connection refused") != std::string::npos);
  CHECK(newcomer.process.Now() - begun < seconds(8));
}

}  // namespace
}  // namespace ers::sim
