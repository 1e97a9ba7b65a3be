#include "ctl/session.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

namespace ers::ctl {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

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

  std::string base = Environment("XDG_STATE_HOME");
  if (base.empty()) {
    const std::string home = Environment("HOME");
    if (home.empty()) {
      return Fail(StatusCode::kInvalidArgument,
                  "--state: neither XDG_STATE_HOME nor HOME is set; name a "
                  "file, or - for none");
    }
    base = home + "/.local/state";
  }
  return fmt::format("{}/libers/{:016x}{:016x}.view", base, hash.high64,
                     hash.low64);
}

Result<std::unique_ptr<Client>> OpenClient(const GlobalOptions& global,
                                           const ClientOptions& options) {
  if (!global.proxy.empty()) {
    return Fail(StatusCode::kInvalidArgument,
                "this command talks to the servers itself: give --servers, not "
                "--proxy (or use any memcached client)");
  }
  if (global.servers.empty()) {
    return Fail(StatusCode::kInvalidArgument,
                "no servers: give --servers host:port,... or set ERS_SERVERS");
  }
  ClusterOptions cluster_options;
  // Clients of a daemon may have stored any.
  cluster_options.binary_keys = true;
  cluster_options.servers = global.servers;
  cluster_options.max_failures = global.max_failures;
  cluster_options.min_redundancy = global.min_redundancy;
  const std::chrono::milliseconds timeout(
      static_cast<std::int64_t>(global.timeout_seconds * 1000));
  cluster_options.operation_timeout = timeout;
  cluster_options.request_timeout =
      std::min(cluster_options.request_timeout, timeout);
  cluster_options.connect_timeout =
      std::min(cluster_options.connect_timeout, timeout);

  if (global.state_file.empty()) {
    Result<std::string> path = DefaultStateFile(global.servers);
    if (!path) return Fail(path.error());
    cluster_options.state_file = *path;
  } else if (global.state_file != "-") {
    cluster_options.state_file = global.state_file;
  }
  // The library checks the server list before anything is created for it.
  auto cluster = Cluster::Open(cluster_options);
  if (!cluster) return Fail(cluster.error());
  const Status folder = MakeFolderOf(cluster_options.state_file);
  if (!folder.ok()) return Fail(folder);
  return Client::Open(*cluster, options);
}

Result<std::unique_ptr<Client>> OpenReader(const GlobalOptions& global) {
  GlobalOptions options = global;
  const bool by_default = options.state_file.empty();
  // The list is checked before anything is created for it.
  options.state_file = by_default ? "-" : options.state_file;
  auto client = OpenClient(options);
  if (!client || !by_default || !HasPlace(global.servers)) return client;
  return OpenClient(global);
}

}  // namespace ers::ctl
