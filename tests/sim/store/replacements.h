// Replacements: servers that simulated processes replace by new, empty ones,
// while clients are at it.
#ifndef ERS_TESTS_SIM_STORE_REPLACEMENTS_H_
#define ERS_TESTS_SIM_STORE_REPLACEMENTS_H_

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "net/task.h"
#include "sim/history/checker.h"
#include "sim/store/client_process.h"
#include "sim/store/server_watch.h"

namespace ers::sim {

// One thread. Outlives its tasks.
class Replacements {
 public:
  using Process = std::shared_ptr<ClientProcess>;

  Replacements(World& world, const Scenario& scenario, ServerWatch& watch,
               ModelServerOptions options)
      : world_(world),
        scenario_(scenario),
        watch_(watch),
        options_(std::move(options)) {}

  // Tries until it is done, also after `by` was killed; false: that slot is
  // being replaced already. `over`: the new server is in sync.
  bool Begin(int slot, const std::vector<Process>& by,
             std::function<void()> over);
  // It was killed; one that `other` gives calls again what it had begun.
  void PassOn(const ClientProcess* killed,
              const std::function<Process()>& other);
  // Some that can be are not done.
  [[nodiscard]] bool pending() const;
  // Nothing is tried any more.
  void End() { ending_ = true; }
  [[nodiscard]] bool running() const;

  // After End: what should have been done and is not, or was and has gone.
  [[nodiscard]] std::vector<Violation> Check() const;

 private:
  struct Replacement {
    SimServer* before = nullptr;
    SimServer* after = nullptr;
    int slot = 0;
    std::function<void()> over;
    std::set<const ClientProcess*> by;
    bool done = false;
    bool refused = false;  // its restart was asked for, when it has the place
    std::string why_not;
  };

  void Start(Replacement& one, const Process& process);
  net::Task<void> Run(Process process, Replacement& one);
  void RestartEmpty(Replacement& one);
  // Until the new server is in sync, where a process backfills it.
  net::Task<void> AwaitInSync(Process process, Replacement& one);

  World& world_;
  const Scenario& scenario_;
  ServerWatch& watch_;
  const ModelServerOptions options_;
  std::vector<std::unique_ptr<Replacement>> all_;
  bool ending_ = false;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_REPLACEMENTS_H_
