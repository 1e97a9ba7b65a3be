// Daemon: the listeners, workers, jobs and admin port of one ersproxy. Entry
// points: main() and Daemon. Whatever can be below it may not come in.
#ifndef ERS_PROXY_DAEMON_DAEMON_H_
#define ERS_PROXY_DAEMON_DAEMON_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/admin.h"
#include "config/options.h"
#include "ers/status.h"
#include "jobs/jobs.h"
#include "server/stats.h"
#include "server/worker.h"
#include "shared/listener.h"

namespace ers::proxy {

class Daemon {
 public:
  // Listens, and goes on as the user of the options; does not serve yet. The
  // options are complete. kInvalidArgument names the one at fault.
  static Result<std::unique_ptr<Daemon>> Open(ServerOptions options);

  // Called on another thread once the servers were checked for the first time,
  // and where serving begins or ends; before Start.
  void OnServing(ServingWatch::Changed changed) {
    jobs_->OnServing(std::move(changed));
  }
  // Failed: there is no memory, or no file descriptor; nothing was started.
  Status Start();
  // Any thread. The second time clients are cut off.
  void Stop();
  // Until all workers have ended.
  void Join();
  // Are these the servers that it has, though some were replaced since its
  // start? Any thread.
  [[nodiscard]] bool HasServers(const std::string& list) const;
  // Takes the rules and limits of `fresh` while clients stay connected: what
  // they ask for goes by them when this returns. CheckReload was OK. The
  // thread that calls Start and Stop, between them.
  void Reload(const ServerOptions& fresh);
  // As bound; the admin port's last.
  [[nodiscard]] std::vector<std::string> listener_names() const;

 private:
  explicit Daemon(ServerOptions options);
  Status Listen();
  Status BecomeUser();
  void SetLimits(const ServerOptions& options);
  // Any thread, once Start was called.
  Facts Describe() const;

  const ServerOptions options_;
  std::shared_ptr<store::ClusterState> cluster_;
  std::vector<Listener> listeners_;
  std::optional<Listener> admin_listener_;
  Shared shared_;
  Stats stats_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Jobs> jobs_;
  const std::chrono::steady_clock::time_point started_ =
      std::chrono::steady_clock::now();
  const std::int64_t started_s_ = std::time(nullptr);  // Unix time
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Admin> admin_;  // ends before what it reports
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_DAEMON_DAEMON_H_
