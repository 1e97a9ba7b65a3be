// In which order a change that reads and writes does so.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

constexpr int kServers = 5;
constexpr std::size_t kBlockBytes = 100'000;
constexpr std::size_t kBlocks = 12;  // of a full group of SRS (3,1,4)

std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
  ClusterOptions options;
  options.servers = servers;
  return store::OpenClusterState(options).value();
}

TEST_CASE("a transition stages its first parity long before its last read") {
  World world(1);
  const std::string servers = world.AddServers(kServers);
  SimRuntime& process = world.AddProcess("client");
  store::Session session(process, Open(servers), 16);
  store::Store store(session, {.scheme = {SchemeKind::kSrs, 3, 1, 4}});
  const std::vector<std::byte> value(kBlocks * kBlockBytes, std::byte{7});
  const PutOptions options;
  REQUIRE(net::SyncWait(process, store.Put("k", value, options)).has_value());
  // As changes before have seen it: 200 Mbit/s.
  session.link_speed().Learn({25e6, std::chrono::microseconds(200)},
                             process.Now());

  const auto received = [&] {
    std::uint64_t bytes = 0;
    for (int member = 0; member < kServers; ++member) {
      bytes += session.link(member).counters().bytes_received.Get();
    }
    return bytes;
  };
  const std::uint64_t before = received();
  std::uint64_t at_first_stage = 0;
  for (const auto& server : world.servers()) {
    server->on_applied = [&](const SimConnection&,
                             const AppliedCommand& command) {
      if (command.value.size() < kBlockBytes || at_first_stage != 0) return;
      at_first_stage = received() - before;
    };
  }
  TransitionTarget wide;
  wide.width = Width::kWide;
  const auto done = net::SyncWait(
      process, store.Transition("k", wide, TransitionVariant::kOptimal));
  REQUIRE(done.has_value());
  CHECK(done->data_reads == kBlocks);
  CHECK(at_first_stage > 0);
  CHECK(at_first_stage < kBlocks * kBlockBytes * 3 / 4);
}

TEST_CASE("a transition leaves the next one the speed at which blocks come") {
  World world(1);
  const std::string servers = world.AddServers(kServers);
  SimRuntime& process = world.AddProcess("client");
  store::Session session(process, Open(servers), 16);
  store::Store store(session, {.scheme = {SchemeKind::kSrs, 3, 1, 4}});
  const std::vector<std::byte> value(kBlocks * kBlockBytes, std::byte{7});
  REQUIRE(net::SyncWait(process, store.Put("k", value, {})).has_value());
  REQUIRE_FALSE(session.link_speed().Known(process.Now()));
  TransitionTarget wide;
  wide.width = Width::kWide;
  REQUIRE(net::SyncWait(
              process, store.Transition("k", wide, TransitionVariant::kOptimal))
              .has_value());
  const auto known = session.link_speed().Known(process.Now());
  REQUIRE(known);
  CHECK(known->rate > 0);
  CHECK(known->travel > net::Duration::zero());
}

void EvictBlock(SimServer& server) {
  for (const std::string& key : server.items().LiveKeys()) {
    if (server.items().Find(key)->value.size() < kBlockBytes) continue;
    server.Evict(key);
    return;
  }
}

enum class Fault { kNone, kCut, kCrash, kEvict };

// A transition that asks for little ahead; so long after its begin something
// happens to the first server. Returns how long it took.
net::Duration TransitionWith(Fault fault, net::Duration after) {
  World world(1);
  const std::string servers = world.AddServers(kServers);
  SimRuntime& process = world.AddProcess("client");
  store::Session session(process, Open(servers), 16);
  store::Store store(session, {.scheme = {SchemeKind::kSrs, 3, 1, 4}});
  std::vector<std::byte> value(kBlocks * kBlockBytes);
  for (std::byte& byte : value) byte = std::byte(world.random().Below(256));
  REQUIRE(net::SyncWait(process, store.Put("k", value, {})).has_value());
  session.link_speed().Learn({25e6, std::chrono::microseconds(200)},
                             process.Now());
  world.After(after, [&world, fault] {
    SimServer& server = *world.servers().front();
    if (fault == Fault::kCut) server.CutConnections();
    if (fault == Fault::kCrash) server.Crash();
    if (fault == Fault::kEvict) EvictBlock(server);
  });
  TransitionTarget wide;
  wide.width = Width::kWide;
  const net::TimePoint begun = process.Now();
  const auto done = net::SyncWait(
      process, store.Transition("k", wide, TransitionVariant::kOptimal));
  const net::Duration took = process.Now() - begun;
  INFO((done.has_value() ? "" : done.error().message()));
  CHECK(done.has_value());
  // All that it staged is right: it is enough without any one server.
  SimServer& lost = *world.servers().back();
  if (fault != Fault::kCrash && fault != Fault::kEvict) lost.Crash();
  Value got;
  REQUIRE(net::SyncWait(process, store.Get("k", got)).has_value());
  CHECK(std::ranges::equal(got.bytes(), value));
  return took;
}

TEST_CASE("what breaks while little is asked for ahead is made up for") {
  constexpr int kMoments = 40;
  const net::Duration whole = TransitionWith(Fault::kNone, {});
  for (const Fault fault : {Fault::kCut, Fault::kCrash, Fault::kEvict}) {
    for (int moment = 0; moment < kMoments; ++moment) {
      INFO(static_cast<int>(fault) << " at " << moment << "/" << kMoments);
      TransitionWith(fault, whole * moment / kMoments);
    }
  }
}

}  // namespace
}  // namespace ers::sim
