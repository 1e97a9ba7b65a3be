#include "ctl/support/session.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "ctl/support/admin_client.h"
#include "ctl/support/environment.h"
#include "ctl/support/proxy_address.h"

namespace ers::ctl {
namespace {

// Creates the folder that `path` lies in.
Status MakeFolderOf(const std::string& path) {
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("--state: cannot create {}: {}; name a file that can be "
                      "written, or - for none",
                      folder.string(), error.message())};
}

// Whether the default state file can be kept. Makes its folder.
bool HasPlace(std::string_view servers) {
  const Result<std::string> path = DefaultStateFile(servers);
  if (!path || !MakeFolderOf(*path).ok()) return false;
  const auto folder = std::filesystem::path(*path).parent_path();
  return access(folder.c_str(), W_OK | X_OK) == 0;
}

// Time for the proxy's own connection to a server, which takes it a second at
// most, and for the way to the proxy.
constexpr std::chrono::milliseconds kConnectThrough{3000};

void TakeTimeouts(const GlobalOptions& global, ClusterOptions& options) {
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  const auto most = milliseconds(global.timeout_seconds);
  const auto request = milliseconds(global.request_timeout_seconds);
  const auto connect = options.through.empty()
                           ? request / 2
                           : std::max(kConnectThrough, request / 2);
  options.operation_timeout = most;
  options.request_timeout = std::min(request, most);
  options.connect_timeout = std::min(connect, most);
}

// Has every server be reached through the proxy.
Status GoThrough(const GlobalOptions& global, ClusterOptions& options) {
  if (global.proxy.empty()) return {};
  const Result<proxy::Address> at = ParseProxy(global.proxy);
  if (!at) return at.error();
  const std::string host = at->host.empty() ? "localhost" : at->host;
  const bool is_v6 = host.find(':') != std::string::npos;
  options.through =
      fmt::format("{}:{}", is_v6 ? "[" + host + "]" : host, at->port);
  if (global.token_file.empty()) return {};
  Result<std::string> token = ReadTokenFile(global.token_file);
  if (!token) return token.error();
  options.through_token = std::move(*token);
  return {};
}

}  // namespace

Result<std::string> DefaultStateFile(std::string_view servers) {
  std::multiset<std::string_view> sorted;
  for (std::size_t begin = 0; begin <= servers.size();) {
    const std::size_t end = std::min(servers.find(',', begin), servers.size());
    sorted.insert(servers.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::string list = fmt::format("{}", fmt::join(sorted, ","));
  const XXH128_hash_t hash = XXH3_128bits(list.data(), list.size());

  const std::string folder = FolderOf("XDG_STATE_HOME", "/.local/state");
  if (folder.empty()) {
    return Fail(StatusCode::kInvalidArgument,
                "--state: neither XDG_STATE_HOME nor HOME is set; name a "
                "file, or - for none");
  }
  return fmt::format("{}/{:016x}{:016x}.view", folder, hash.high64, hash.low64);
}

Result<GlobalOptions> WithServers(const GlobalOptions& global) {
  if (global.proxy.empty() || !global.servers.empty()) return global;
  const Result<Json> status = AskAdmin(global, Method::kGet, "/status");
  if (!status) return Fail(status.error());
  GlobalOptions known = global;
  known.servers = status->value("server_list", std::string());
  known.max_failures = status->value("max_failures", 0);
  // A new cluster must not get another one than the daemon would give it.
  const Json placement = status->value("placement", Json::object());
  known.distribution = placement.value("distribution", std::string());
  known.hash = placement.value("hash", std::string());
  known.hash_tag = placement.value("hash_tag", std::string());
  if (!known.servers.empty()) return known;
  return Fail(StatusCode::kIncompatible,
              fmt::format("{}: its /status does not name the servers: is it an "
                          "ersproxy of this version?",
                          global.proxy));
}

Result<std::shared_ptr<Cluster>> OpenCluster(const GlobalOptions& named) {
  const Result<GlobalOptions> global = WithServers(named);
  if (!global) return Fail(global.error());
  if (global->servers.empty()) {
    return Fail(StatusCode::kInvalidArgument,
                "no servers: give --servers host:port,... or set ERS_SERVERS; "
                "or --proxy or ERS_PROXY, and an ersproxy's admin address");
  }
  ClusterOptions options;
  // Clients of a daemon may have stored any.
  options.binary_keys = true;
  options.servers = global->servers;
  options.distribution = global->distribution;
  options.hash = global->hash;
  options.hash_tag = global->hash_tag;
  options.max_failures = global->max_failures;
  options.min_redundancy = global->min_redundancy;
  const Status through = GoThrough(*global, options);
  if (!through.ok()) return Fail(through);
  TakeTimeouts(*global, options);

  if (global->state_file.empty()) {
    Result<std::string> path = DefaultStateFile(global->servers);
    if (!path) return Fail(path.error());
    options.state_file = *path;
  } else if (global->state_file != "-") {
    options.state_file = global->state_file;
  }
  // The library checks the server list before anything is created for it.
  auto cluster = Cluster::Open(options);
  if (!cluster) return Fail(cluster.error());
  const Status folder = MakeFolderOf(options.state_file);
  if (!folder.ok()) return Fail(folder);
  return *cluster;
}

Result<std::unique_ptr<Client>> OpenClient(const GlobalOptions& global,
                                           const ClientOptions& options) {
  const auto cluster = OpenCluster(global);
  if (!cluster) return Fail(cluster.error());
  return Client::Open(*cluster, options);
}

Result<std::unique_ptr<Client>> OpenReader(const GlobalOptions& named) {
  const Result<GlobalOptions> global = WithServers(named);
  if (!global) return Fail(global.error());
  GlobalOptions options = *global;
  const bool by_default = options.state_file.empty();
  // The list is checked before anything is created for it.
  options.state_file = by_default ? "-" : options.state_file;
  auto client = OpenClient(options);
  if (!client || !by_default || !HasPlace(global->servers)) return client;
  return OpenClient(*global);
}

}  // namespace ers::ctl
