// A server that falls silent: the loop that finds it out does so for all loops
// of the process.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

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
constexpr int kKeys = 20;
constexpr int kLoops = 4;

std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
  ClusterOptions options;
  options.servers = servers;
  options.max_failures = 1;
  return store::OpenClusterState(options).value();
}

// One of the threads of a daemon.
struct Loop {
  Loop(SimRuntime& runtime, std::shared_ptr<store::ClusterState> cluster)
      : process(runtime),
        session(runtime, std::move(cluster), 2 * kKeys),
        store(session,
              {.scheme = {SchemeKind::kErs2, 2, 1, 3}, .inline_below = 0}) {}

  bool Put(const std::string& key) {
    const PutOptions options;
    return net::SyncWait(process, store.Put(key, value, options)).has_value();
  }
  void ReadAll() {
    for (int i = 0; i < kKeys; ++i) {
      Value read;
      const std::string key = fmt::format("key{}", i);
      REQUIRE(net::SyncWait(process, store.Get(key, read)).has_value());
    }
  }

  SimRuntime& process;
  store::Session session;
  store::Store store;
  std::array<std::byte, 3000> value{};
};

TEST_CASE("what one loop finds silent, no other one waits for") {
  World world(1);
  const std::string servers = world.AddServers(kServers);
  SimRuntime& process = world.AddProcess("client");
  const std::shared_ptr<store::ClusterState> cluster = Open(servers);
  const Duration timeout = cluster->options.request_timeout;
  std::array<std::unique_ptr<Loop>, kLoops> loops;
  for (auto& loop : loops) loop = std::make_unique<Loop>(process, cluster);
  for (int i = 0; i < kKeys; ++i) {
    REQUIRE(loops[0]->Put(fmt::format("key{}", i)));
  }
  for (auto& loop : loops) loop->ReadAll();  // their connections stand

  world.servers()[0]->Stall();
  TimePoint begin = process.Now();
  for (int i = 0; i < kKeys; ++i) {
    REQUIRE(loops[0]->Put(fmt::format("more{}", i)));
  }
  // One timeout finds it out, and the change of the view has its own.
  CHECK(process.Now() - begin < 3 * timeout);
  begin = process.Now();
  for (auto& loop : loops) loop->ReadAll();
  CHECK(process.Now() - begin < timeout);
}

}  // namespace
}  // namespace ers::sim
