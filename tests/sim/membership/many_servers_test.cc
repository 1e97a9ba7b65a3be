// What a process that starts asks of a cluster of many servers, whose view
// record is long.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "net/task.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_loader.h"
#include "store/support/session_counters.h"

namespace ers::sim {
namespace {

constexpr int kServers = 60;

// A process that has begun.
struct Process {
  Process(World& world, const std::string& servers, const std::string& name)
      : runtime(world.AddProcess(name)),
        cluster(Open(servers, name)),
        counters(std::make_shared<store::SessionCounters>(kServers)),
        session(runtime, cluster, 16, counters) {
    begun = net::SyncWait(runtime, store::EnsureView(session));
  }
  std::uint64_t Received() const {
    std::uint64_t bytes = 0;
    for (const net::LinkCounters& link : counters->links) {
      bytes += link.bytes_received.Get();
    }
    return bytes;
  }
  static std::shared_ptr<store::ClusterState> Open(const std::string& servers,
                                                   const std::string& name) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 1;
    return store::OpenClusterState(options, name).value();
  }

  SimRuntime& runtime;
  const std::shared_ptr<store::ClusterState> cluster;
  const std::shared_ptr<store::SessionCounters> counters;
  store::Session session;
  Status begun;
};

TEST_CASE("a process that starts reads the view's record once on each server") {
  World world(3);
  const std::string servers = world.AddServers(kServers);
  Process first(world, servers, "first");
  REQUIRE(first.begun.ok());
  Process second(world, servers, "second");
  REQUIRE(second.begun.ok());
  const std::uint64_t record =
      world.servers()[0]->items().Find(store::kViewKey)->value.size();
  for (const Process* process : {&first, &second}) {
    CAPTURE(process->runtime.name());
    CHECK(process->Received() >= kServers * record);
    CHECK(process->Received() < kServers * record * 3 / 2);
  }
}

TEST_CASE("room beside the view's record is taken on few servers at a time") {
  NetworkOptions network;
  network.latency_min = network.latency_max = std::chrono::microseconds(100);
  network.split_chance = 0;
  World world(3, network);
  const std::string servers =
      world.AddServers(kServers, ModelServerOptions{.evictions = false});
  // Where it begins, at each moment.
  std::map<TimePoint, int> begun;
  std::set<const SimServer*> seen;
  std::map<std::string, int> kept;
  for (const auto& server : world.servers()) {
    server->on_applied = [&, at = server.get()](const SimConnection&,
                                                const AppliedCommand& command) {
      const bool room = command.key.starts_with(store::kSparePrefix) &&
                        command.key.find("view") != std::string_view::npos;
      if (!room) return;
      if (seen.insert(at).second) ++begun[world.now()];
      kept[at->name()] += command.applied ? 1 : 0;
    };
  }
  {
    const Process first(world, servers, "first");
    REQUIRE(first.begun.ok());
    (void)world.RunUntil([] { return false; }, std::chrono::seconds(10));
  }
  // None lacks it in the end.
  CHECK(kept.size() == kServers);
  for (const auto& [name, items] : kept) CHECK(items == 6);
  int most = 0;
  for (const auto& [when, count] : begun) most = std::max(most, count);
  CHECK(most <= 8);
  for (const auto& server : world.servers()) server->on_applied = nullptr;
}

}  // namespace
}  // namespace ers::sim
