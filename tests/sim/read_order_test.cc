// In which order a change that reads and writes does so.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/sim_runtime.h"
#include "sim/sim_server.h"
#include "sim/sim_world.h"
#include "store/cluster_state.h"
#include "store/session.h"
#include "store/store.h"

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

TEST_CASE("a transition tells the next one how fast blocks come") {
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

}  // namespace
}  // namespace ers::sim
