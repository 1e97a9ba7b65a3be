// Gets that need no coroutine, and those that go on with one.
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "net/task.h"
#include "sim/objects/quick_calls.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

constexpr int kServers = 4;
constexpr std::size_t kInlineBelow = 1000;

struct Client {
  Client(World& world, const std::string& name, const std::string& servers)
      : process(world.AddProcess(name)),
        session(process, Open(servers), 16),
        store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3},
                        .inline_below = kInlineBelow}) {}

  static std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
    ClusterOptions options;
    options.servers = servers;
    return store::OpenClusterState(options).value();
  }
  void Put(const std::string& text) {
    const PutOptions options;
    REQUIRE(
        net::SyncWait(process,
                      store.Put("k", std::as_bytes(std::span(text)), options))
            .has_value());
  }
  StatusCode Get() {
    const Result<GetInfo> info =
        net::SyncWait(process, QuickRead(store, "k", value, &hits));
    return info ? StatusCode::kOk : info.error().code();
  }

  SimRuntime& process;
  store::Session session;
  store::Store store;
  Value value;
  int hits = 0;
};

TEST_CASE("a short value that is known to be committed is a hit") {
  World world(1);
  const std::string servers = world.AddServers(kServers);
  Client client(world, "client", servers);
  client.Put("short");
  REQUIRE(client.Get() == StatusCode::kOk);
  CHECK(client.value.text() == "short");
  CHECK(client.hits == 1);
}

TEST_CASE("what is no hit ends as any get does") {
  World world(1);
  const std::string servers = world.AddServers(kServers);
  Client client(world, "client", servers);
  CHECK(client.Get() == StatusCode::kNotFound);
  const std::string in_blocks(3 * kInlineBelow, 'b');
  client.Put(in_blocks);
  // Another process does not remember where its blocks are.
  Client other(world, "other", servers);
  REQUIRE(other.Get() == StatusCode::kOk);
  CHECK(other.value.text() == in_blocks);
  // Nor does it know of its last change that it was committed.
  client.Put("short");
  REQUIRE(other.Get() == StatusCode::kOk);
  CHECK(other.value.text() == "short");
  CHECK(client.hits + other.hits == 0);
}

}  // namespace
}  // namespace ers::sim
