// Members that are filled while clients write.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "net/task.h"
#include "sim/sim_runtime.h"
#include "sim/sim_server.h"
#include "sim/sim_world.h"
#include "store/cluster_state.h"
#include "store/session.h"
#include "store/store.h"

namespace ers::sim {
namespace {

constexpr int kServers = 6;
// Each with a key of its own: some are always in the midst of a change.
constexpr int kWriters = 48;
constexpr int kColdKeys = 1000;
constexpr std::size_t kBytes = 900;

struct Fixture {
  Fixture()
      : store(session,
              {.scheme = {SchemeKind::kErs2, 2, 1, 3}, .inline_below = 0}) {
    value.fill(std::byte{7});
  }

  net::Task<Status> Put(std::string key) {
    const PutOptions options;
    const Result<ObjectInfo> put = co_await store.Put(key, value, options);
    if (!put) co_return put.error();
    co_return Status();
  }
  net::Task<void> WriteOn(int writer) {
    const std::string key = fmt::format("hot{}", writer);
    while (!stop) {
      (void)co_await Put(key);
      ++writes;
    }
    --running;
  }

  static std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
    ClusterOptions options;
    options.servers = servers;
    options.max_parity = 1;
    return store::OpenClusterState(options).value();
  }

  World world{1};
  const std::string servers = world.AddServers(kServers);
  SimRuntime& process = world.AddProcess("client");
  const std::shared_ptr<store::ClusterState> cluster = Open(servers);
  store::Session session{process, cluster, 16};
  store::Store store;
  std::array<std::byte, kBytes> value;
  bool stop = false;
  int running = kWriters;
  int writes = 0;
};

TEST_CASE("a member gets full though clients write all the time") {
  Fixture f;
  for (int i = 0; i < kColdKeys; ++i)
    REQUIRE(net::SyncWait(f.process, f.Put(fmt::format("cold{}", i))).ok());
  f.world.servers()[0]->Crash();
  REQUIRE(net::SyncWait(f.process, f.Put("cold0")).ok());  // it is missed
  f.world.servers()[0]->Restart();
  for (int i = 0; i < kWriters; ++i) net::Spawn(f.WriteOn(i));
  const int before = f.writes;
  const store::FillTerms terms;
  const Result<store::FillReport> report =
      net::SyncWait(f.process, f.store.Fill(0, terms));
  CAPTURE(report ? "" : report.error().message());
  CHECK(report.has_value());
  CHECK(f.writes - before > kWriters);
  f.stop = true;
  REQUIRE(f.world.RunUntil([&f] { return f.running == 0; },
                           std::chrono::minutes(1)));
  CHECK(f.session.view()->NotFull() == 0);
}

}  // namespace
}  // namespace ers::sim
