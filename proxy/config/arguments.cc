#include "config/arguments.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "config/load.h"

namespace ers::proxy {
namespace {

std::vector<std::string> Words(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

// What the command line says goes before the file.
Status Override(const Arguments& arguments, ServerOptions& options) {
  const auto set = [&options](const auto& from, auto& into, const char* setting,
                              const char* option) {
    if (!from) return;
    into = *from;
    options.places[setting] = option;
  };
  if (!arguments.listen.empty()) {
    options.listen = arguments.listen;
    options.places["listen"] = "--listen";
  }
  ClusterOptions& cluster = options.cluster;
  set(arguments.servers, cluster.servers, "servers", "--servers");
  set(arguments.max_failures, cluster.max_failures, "max_failures",
      "--max-failures");
  set(arguments.state_file, cluster.state_file, "state_file", "--state");
  set(arguments.inline_below, options.client.inline_below, "inline_below",
      "--inline-below");
  set(arguments.threads, options.threads, "threads", "--threads");
  set(arguments.max_connections, options.max_connections,
      "limits.max_connections", "--max-connections");
  set(arguments.max_value_bytes, options.max_value_bytes,
      "limits.max_value_bytes", "--max-value");
  set(arguments.memory_in_flight_bytes, options.memory_in_flight_bytes,
      "limits.memory_in_flight_bytes", "--memory-in-flight");
  set(arguments.admin, options.admin, "admin", "--admin");
  set(arguments.admin_token_file, options.admin_token_file, "admin_token_file",
      "--admin-token-file");
  set(arguments.state_dir, options.state_dir, "state_dir", "--state-dir");
  set(arguments.user, options.user, "user", "--user");
  set(arguments.log_level, options.log_level, "log.level", "--log-level");
  if (arguments.log_format) {
    options.log_format = LogFormatOf(*arguments.log_format);
    options.places["log.format"] = "--log-format";
  }
  options.port_file = arguments.port_file;
  if (arguments.scheme) {
    const Result<Scheme> scheme = ParseScheme(*arguments.scheme);
    Status status = scheme ? ValidateStoredScheme(*scheme) : scheme.error();
    if (!status.ok()) {
      return {StatusCode::kInvalidArgument,
              fmt::format("--scheme: {}", status.message())};
    }
    options.client.scheme = *scheme;
    options.places["scheme"] = "--scheme";
  }
  return {};
}

void AddFileArguments(CLI::App& app, Arguments& arguments) {
  app.add_option("--config", arguments.config,
                 "Settings, in YAML; options of the command line override "
                 "them; SIGHUP reads it again")
      ->type_name("FILE");
  app.add_option("--check-config", arguments.check_config,
                 "Only look whether such a file is good: exit code 0 or 2")
      ->type_name("FILE");
  app.add_flag("--list-metrics", arguments.list_metrics)
      ->group("");  // makes docs/reference/metrics.md
}

void AddClusterArguments(CLI::App& app, Arguments& arguments) {
  app.add_option("--listen", arguments.listen,
                 "host:port, [IPv6]:port or /unix/path; port 0: any free one; "
                 "may be repeated (default: 127.0.0.1:11211)")
      ->type_name("ADDRESS");
  app.add_option("--servers", arguments.servers,
                 "Every memcached server of the cluster: host:port[:weight],"
                 "[IPv6]:port,/unix/socket,...")
      ->envname("ERS_SERVERS")
      ->type_name("LIST");
  app.add_option("--scheme", arguments.scheme,
                 "Of new objects, where no rule says otherwise (default: "
                 "ers2:4,1,5)")
      ->type_name("SCHEME");
  app.add_option("--max-failures", arguments.max_failures,
                 "Servers that may die: fixed when a cluster is first used "
                 "(default: the largest m of the schemes)")
      ->check(CLI::Range(1, kMaxFailures))
      ->type_name("F");
  app.add_option("--state", arguments.state_file,
                 "Where to keep the newest view of the cluster (default: "
                 "nowhere)")
      ->type_name("FILE");
  app.add_option("--inline-below", arguments.inline_below,
                 "Keep shorter values whole on f+1 servers (default: 4096)")
      ->check(CLI::Range(kMaxInlineBelow))
      ->type_name("BYTES");
}

void AddLimits(CLI::App& app, Arguments& arguments) {
  app.add_option("--threads", arguments.threads, "Default: 2")
      ->check(CLI::Range(1, kMaxThreads))
      ->type_name("N");
  app.add_option("--max-connections", arguments.max_connections,
                 "Of all clients (default: 16384)")
      ->check(CLI::Range(1, kMaxConnections))
      ->type_name("N");
  app.add_option("--max-value", arguments.max_value_bytes,
                 "Longer ones are refused (default: 268435456)")
      ->check(CLI::Range(std::uint64_t{1}, kMaxValueBytes))
      ->type_name("BYTES");
  app.add_option("--memory-in-flight", arguments.memory_in_flight_bytes,
                 "What requests under way may hold of values, together "
                 "(default: 1073741824)")
      ->check(CLI::Range(std::uint64_t{1}, kMaxMemoryInFlight))
      ->type_name("BYTES");
}

void AddAdminAndLog(CLI::App& app, Arguments& arguments) {
  app.add_option("--admin", arguments.admin,
                 "host:port of HTTP for /healthz, /readyz, /status, /metrics "
                 "and jobs; "
                 ":port is loopback (default: nowhere)")
      ->type_name("ADDRESS");
  app.add_option("--admin-token-file", arguments.admin_token_file,
                 "Holds what requests to --admin must carry; without it that "
                 "must be loopback")
      ->type_name("FILE");
  app.add_option("--state-dir", arguments.state_dir,
                 "Folder that keeps jobs over a restart, for this process "
                 "alone (default: they end with it)")
      ->type_name("DIR");
  app.add_option("-u,--user", arguments.user,
                 "Become this user once the ports are taken; for root only")
      ->type_name("NAME");
  app.add_option("--port-file", arguments.port_file,
                 "Gets the addresses listened on, one a line, the admin "
                 "port's last")
      ->type_name("FILE");
  app.add_option("--log-level", arguments.log_level,
                 "debug, info (default), warning or error")
      ->check(CLI::IsMember(Words(kLogLevels)))
      ->type_name("LEVEL");
  app.add_option("--log-format", arguments.log_format,
                 "text (default) or json: one object a line")
      ->check(CLI::IsMember(Words(kLogFormats)))
      ->type_name("FORMAT");
}

}  // namespace

// In the order in which --help has them.
void AddArguments(CLI::App& app, Arguments& arguments) {
  AddFileArguments(app, arguments);
  AddClusterArguments(app, arguments);
  AddLimits(app, arguments);
  AddAdminAndLog(app, arguments);
}

Result<ServerOptions> OptionsOf(const Arguments& arguments) {
  const bool checks = !arguments.check_config.empty();
  const std::string& file = checks ? arguments.check_config : arguments.config;
  ServerOptions options;
  if (!file.empty()) {
    Result<ServerOptions> loaded = LoadOptions(file);
    if (!loaded) return loaded;
    options = std::move(*loaded);
  }
  Status status = Override(arguments, options);
  if (!status.ok()) return Fail(std::move(status));
  return options;
}

}  // namespace ers::proxy
