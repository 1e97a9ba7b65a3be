#include "server/descriptors.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace ers::proxy {
namespace {

// Threads have a connection to each server, and one more while they probe the
// view; jobs are a thread more.
constexpr std::ptrdiff_t kPerServerAndThread = 2;
constexpr std::ptrdiff_t kTunnelsPerServer = 4;
constexpr std::ptrdiff_t kMinTunnels = 256;
constexpr int kPerTunnel = 2;
// Where few file descriptors are allowed, one in so many is for tunnels.
constexpr int kPartForTunnels = 8;
// Loops, sockets that listen, the log, files that are written.
constexpr std::ptrdiff_t kFiles = 64;

std::ptrdiff_t ServersOf(const ServerOptions& options) {
  const std::string& list = options.cluster.servers;
  return 1 + std::count(list.begin(), list.end(), ',');
}

int WantedTunnels(const ServerOptions& options) {
  return static_cast<int>(
      std::max(kMinTunnels, kTunnelsPerServer * ServersOf(options)));
}

}  // namespace

int DescriptorsBesideClients(const ServerOptions& options) {
  const std::ptrdiff_t to_servers =
      kPerServerAndThread * ServersOf(options) * (options.threads + 1);
  const int of_admin = options.admin.empty()
                           ? 0
                           : kPerTunnel * WantedTunnels(options) +
                                 static_cast<int>(kMaxAdminConnections);
  return static_cast<int>(to_servers + kFiles) + of_admin;
}

int MostTunnels(const ServerOptions& options) {
  return std::min(WantedTunnels(options),
                  AllowedDescriptors() / kPartForTunnels / kPerTunnel);
}

int AllowedDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(
      std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

int EndOfClients(int allowed, int beside) {
  return std::max(allowed - beside, allowed / 2);
}

void RaiseDescriptorLimit(const ServerOptions& options) {
  const int beside = DescriptorsBesideClients(options);
  const rlim_t wanted = static_cast<rlim_t>(options.max_connections) +
                        static_cast<rlim_t>(beside);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  // Beyond the hard limit only where it is allowed.
  const rlimit all{wanted, std::max(wanted, limit.rlim_max)};
  if (setrlimit(RLIMIT_NOFILE, &all) == 0) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  const int allowed = AllowedDescriptors();
  spdlog::warn(
      "only {} file descriptors are allowed and {} are wanted: no more than "
      "about {} clients are taken; raise the limit (ulimit -n), or lower "
      "--max-connections",
      allowed, wanted, EndOfClients(allowed, beside));
}

}  // namespace ers::proxy
