// ClientProcess: one simulated process that uses the store.
#ifndef ERS_TESTS_SIM_STORE_CLIENT_PROCESS_H_
#define ERS_TESTS_SIM_STORE_CLIENT_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "sim/store/scenario.h"
#include "sim/world/sim_runtime.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {

// One thread. Its sessions share one view, as the loops of a process do.
class ClientProcess {
 public:
  // `servers`: as ClusterOptions has them.
  ClientProcess(SimRuntime& runtime, std::string servers,
                const Scenario& scenario);

  SimRuntime& runtime() { return runtime_; }
  [[nodiscard]] const store::ClusterState& cluster() const { return *cluster_; }
  [[nodiscard]] std::shared_ptr<const store::View> view() const {
    return cluster_->keeper.Current();
  }
  // One that clients use, too.
  store::Session& session(int client = 0) {
    return *sessions_[static_cast<std::size_t>(client) % sessions_.size()];
  }
  store::Store& store(int client) {
    return *stores_[static_cast<std::size_t>(client) % stores_.size()];
  }
  // It is up, and neither changes the view nor has cause to: no server has
  // failed it.
  [[nodiscard]] bool KeepsAll() const;
  // Nothing is asked of it until then.
  [[nodiscard]] TimePoint rests_until() const { return rests_until_; }
  void RestUntil(TimePoint time) { rests_until_ = time; }

 private:
  SimRuntime& runtime_;
  TimePoint rests_until_{};
  std::shared_ptr<store::ClusterState> cluster_;
  std::vector<std::unique_ptr<store::Session>> sessions_;
  std::vector<std::unique_ptr<store::Store>> stores_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_CLIENT_PROCESS_H_
