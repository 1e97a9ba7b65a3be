// SimClient: one process that stores small values in a model cluster, for the
// tests of what processes share.
#ifndef ERS_TESTS_SIM_WORLD_SIM_CLIENT_H_
#define ERS_TESTS_SIM_WORLD_SIM_CLIENT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"

namespace ers::sim {

// One thread. The world outlives it. `name` is the process's label, too.
struct SimClient {
  SimClient(World& world, const std::string& servers, const std::string& name,
            const ClientOptions& client = {.scheme = {SchemeKind::kErs2, 2, 1,
                                                      3}},
            int max_failures = 1)
      : process(world.AddProcess(name)),
        cluster(Open(servers, name, max_failures)),
        session(process, cluster, 16),
        store(session, client) {}

  // Until it is over.
  Status Put() {
    const std::string_view value = "value";
    const auto put = net::SyncWait(
        process, store.Put("key", std::as_bytes(std::span(value)), {}));
    return put ? Status() : put.error();
  }
  Status Begin() { return net::SyncWait(process, store::EnsureView(session)); }
  Status MarkDown(int member) {
    return net::SyncWait(process, store::MarkDown(session, member, "a test"));
  }
  std::uint64_t epoch() { return session.view()->epoch; }
  bool HoldsLease() { return cluster->lease.Holds(process.Now()); }

  SimRuntime& process;
  std::shared_ptr<store::ClusterState> cluster;
  store::Session session;
  store::Store store;

 private:
  static std::shared_ptr<store::ClusterState> Open(const std::string& servers,
                                                   const std::string& name,
                                                   int max_failures) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = max_failures;
    return store::OpenClusterState(options, name).value();
  }
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_SIM_CLIENT_H_
