// Daemon: the listeners, workers, jobs and admin port of one ersproxy. Entry
// points: main() and Daemon. Whatever can be below it may not come in.
#ifndef ERS_PROXY_DAEMON_DAEMON_H_
#define ERS_PROXY_DAEMON_DAEMON_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/admin.h"
#include "admin/tunnels.h"
#include "config/options.h"
#include "daemon/handover.h"
#include "ers/status.h"
#include "jobs/jobs.h"
#include "server/stats.h"
#include "server/worker.h"
#include "shared/listener.h"
#include "tracing/trace_exporter.h"

namespace ers::proxy {

class Daemon {
 public:
  // Listens, and goes on as the user of the options; does not serve yet. The
  // options are complete. kInvalidArgument names the one at fault. Takes the
  // sockets that it `inherited`; where there is a process before it, waits for
  // the place of that, having shown that it could serve.
  static Result<std::unique_ptr<Daemon>> Open(ServerOptions options,
                                              Inheritance& inherited);

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

  // The listening sockets; for a process that is to take over.
  [[nodiscard]] std::vector<int> listening() const;
  // As of an Inheritance.
  [[nodiscard]] bool kept() const { return shares_sockets_.load(); }
  // Jobs and the admin port end, so that another process may have them; clients
  // are served as before. Then HandOver or Stop.
  void GiveWay();
  // No more clients are taken; each goes over `to` between two of its requests.
  // Then the workers end.
  void HandOver(std::shared_ptr<const HandoverChannel> to);
  // Serves a client that the process before had.
  void Adopt(Socket client, std::string unread);
  // Of clients, and through the admin port to servers.
  [[nodiscard]] int connections() const;

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
  Status Listen(std::vector<Socket> inherited);
  Status AwaitPlace(const HandoverChannel& before) const;
  Status CheckServing() const;
  [[nodiscard]] std::vector<int> SocketsOf(int worker) const;
  Status BecomeUser();
  void SetLimits(const ServerOptions& options);
  // Any thread, once Start was called.
  Facts Describe() const;
  void DescribeServers(Facts& facts) const;
  // As Tunnels::Terms has it.
  [[nodiscard]] std::optional<net::Endpoint> ServerAt(
      std::string_view authority) const;

  const ServerOptions options_;
  std::shared_ptr<store::ClusterState> cluster_;
  std::vector<Listener> listeners_;
  std::optional<Listener> admin_listener_;
  int admin_socket_ = -1;  // the admin port's
  // With systemd, or a process that takes over: they are not this one's to shut
  // down.
  std::atomic<bool> shares_sockets_{false};
  std::atomic<bool> gave_way_{false};
  std::atomic<bool> successor_gone_{false};  // or takes no client
  std::atomic<int> lost_{0};                 // clients that it did not take
  std::size_t adopted_ = 0;
  // Outlives the workers; null: there is no collector.
  std::unique_ptr<TraceExporter> exporter_;
  Shared shared_;
  Stats stats_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Jobs> jobs_;
  const std::chrono::steady_clock::time_point started_ =
      std::chrono::steady_clock::now();
  const std::int64_t started_s_ = std::time(nullptr);  // Unix time
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Tunnels> tunnels_;  // null: there is no admin port
  std::unique_ptr<Admin> admin_;      // ends before what it reports
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_DAEMON_DAEMON_H_
