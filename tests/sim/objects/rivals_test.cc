// Many that change one object at once, of one process and of several: all are
// done, each once.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_world.h"
#include "store/membership/key_lines.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::minutes;

constexpr int kClients = 16;
constexpr int kTimes = 10;

// One loop of a process.
struct Loop {
  Loop(SimRuntime& runtime, std::shared_ptr<store::ClusterState> cluster)
      : session(runtime, std::move(cluster), 16),
        store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3}}) {}
  store::Session session;
  store::Store store;
};

struct Crowd {
  explicit Crowd(int processes) {
    const std::string servers = world.AddServers(4);
    for (int i = 0; i < processes; ++i) {
      const std::string name = "process" + std::to_string(i);
      clients.push_back(std::make_unique<SimClient>(world, servers, name));
      SimClient& client = *clients.back();
      loops.push_back(std::make_unique<Loop>(client.process, client.cluster));
      loops.push_back(std::make_unique<Loop>(client.process, client.cluster));
    }
  }

  net::Task<void> Add(store::Store& store) {
    for (int i = 0; i < kTimes; ++i) {
      const auto add = [](const ObjectInfo&, std::span<const std::byte> old) {
        store::Rewritten rewritten;
        const std::string text(reinterpret_cast<const char*>(old.data()),
                               old.size());
        rewritten.value = std::to_string(std::stoi(text) + 1);
        rewritten.value.resize(old.size(), ' ');
        return rewritten;
      };
      const Result<ObjectInfo> added = co_await store.Rewrite("key", add);
      if (!added) refused += added.error().message() + "; ";
    }
    --left;
  }
  // The number, after all have added to it.
  int Run(std::size_t bytes) {
    std::string value = "0";
    value.resize(bytes, ' ');
    store::Store& first = loops.front()->store;
    net::Runtime& runtime = loops.front()->session.runtime();
    const auto begin = std::as_bytes(std::span(value));
    REQUIRE(net::SyncWait(runtime, first.Put("key", begin, {})).has_value());
    left = kClients;
    for (std::size_t i = 0; i < kClients; ++i) {
      net::Spawn(Add(loops[i % loops.size()]->store));
    }
    REQUIRE(world.RunUntil([this] { return left == 0; }, minutes(5)));
    Value now;
    REQUIRE(net::SyncWait(runtime, first.Get("key", now)).has_value());
    return std::stoi(
        std::string(reinterpret_cast<const char*>(now.data()), now.size()));
  }
  std::uint64_t Aborts() {
    std::uint64_t aborts = 0;
    for (const auto& loop : loops) {
      const store::StoreCounters& counters = loop->session.counters();
      aborts += counters.aborts_by_rival.Get() +
                counters.aborts_by_restart.Get() +
                counters.commits_unknown.Get();
    }
    return aborts;
  }

  World world{1};
  std::vector<std::unique_ptr<SimClient>> clients;
  std::vector<std::unique_ptr<Loop>> loops;
  std::string refused;
  int left = 0;
};

// Invariant C2.
TEST_CASE("in one process changes of a key do not meet as rivals") {
  for (const std::size_t bytes : {8, 20'000}) {
    Crowd crowd(1);
    CHECK(crowd.Run(bytes) == kClients * kTimes);
    CHECK(crowd.refused == "");
    CHECK(crowd.Aborts() == 0);
    CHECK(crowd.clients.front()->cluster->lines->size() == 0);
  }
}

// Invariant C2.
TEST_CASE("of several processes they go on until each is done") {
  for (const std::size_t bytes : {8, 20'000}) {
    for (const int processes : {2, 4}) {
      Crowd crowd(processes);
      CHECK(crowd.Run(bytes) == kClients * kTimes);
      CHECK(crowd.refused == "");
      CHECK(crowd.Aborts() > 0);
    }
  }
}

}  // namespace
}  // namespace ers::sim
