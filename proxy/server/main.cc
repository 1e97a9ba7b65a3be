// ersproxy: any memcached client, on erasure-coded servers.
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "server/server.h"

namespace ers::proxy {
namespace {

enum ExitCode { kDone = 0, kBadUsage = 2, kFailed = 3 };

constexpr const char* kFooter = R"(
Example:
  ersproxy --listen 127.0.0.1:11311 --scheme ers2:4,1,5 \
    --servers 10.0.0.1:11211,10.0.0.2:11211,...

SIGTERM and SIGINT take no more clients, answer what was asked and end; the
second one cuts off. Exit codes: 0 ended so, 2 bad usage, 3 failed.)";

struct Arguments {
  ServerOptions options;
  std::string scheme = "ers2:4,1,5";
  std::string log_level = "info";
};

void AddArguments(CLI::App& app, Arguments& arguments) {
  ServerOptions& options = arguments.options;
  app.add_option("--listen", options.listen,
                 "host:port, [IPv6]:port or /unix/path; port 0: any free one; "
                 "may be repeated (default: 127.0.0.1:11211)")
      ->type_name("ADDRESS");
  app.add_option("--servers", options.cluster.servers,
                 "Every memcached server of the cluster: host:port[:weight],"
                 "[IPv6]:port,/unix/socket,...")
      ->envname("ERS_SERVERS")
      ->required()
      ->type_name("LIST");
  app.add_option("--scheme", arguments.scheme,
                 "Of new objects (default: ers2:4,1,5)")
      ->type_name("SCHEME");
  app.add_option("--max-parity", options.cluster.max_parity,
                 "Servers that may die: fixed when a cluster is first used "
                 "(default: as the cluster has it, or the scheme's)")
      ->check(CLI::Range(1, 254))
      ->type_name("M");
  app.add_option("--state", options.cluster.state_file,
                 "Where to keep the newest view of the cluster (default: "
                 "nowhere)")
      ->type_name("FILE");
  app.add_option("--inline-below", options.client.inline_below,
                 "Keep shorter values whole on M+1 servers (default: 4096)")
      ->check(CLI::Range(kMaxInlineBelow))
      ->type_name("BYTES");
  app.add_option("--threads", options.threads, "Default: 2")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_option("--max-connections", options.max_connections,
                 "Of all clients (default: 16384)")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  app.add_option("--max-value", options.max_value_bytes,
                 "Longer ones are refused (default: 268435456)")
      ->check(CLI::Range(std::uint64_t{1}, kMaxValueBytes))
      ->type_name("BYTES");
  app.add_option("--port-file", options.port_file,
                 "Gets the addresses listened on, one a line")
      ->type_name("FILE");
  app.add_option("--log-level", arguments.log_level,
                 "debug, info (default), warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->type_name("LEVEL");
}

void Log(LogLevel level, std::string_view line) {
  static constexpr spdlog::level::level_enum kLevels[] = {
      spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
      spdlog::level::err};
  spdlog::log(kLevels[static_cast<std::size_t>(level)], "{}", line);
}

// Every client and server takes one.
void RaiseDescriptorLimit(int connections) {
  constexpr rlim_t kBeside = 4096;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kBeside;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  const rlimit raised{wanted, std::max(wanted, limit.rlim_max)};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return;
  // Only root may go over the hard limit.
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  spdlog::warn(
      "only {} file descriptors are allowed and {} are wanted: raise the "
      "limit (ulimit -n), or lower --max-connections",
      limit.rlim_cur, wanted);
}

// Blocked before the first thread starts, so that all of them have it so.
int OpenSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1})
    sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

bool WritePortFile(const ServerOptions& options,
                   const std::vector<std::string>& names) {
  if (options.port_file.empty()) return true;
  // Whoever waits for the file finds it whole.
  const std::string fresh = options.port_file + ".new";
  std::ofstream file(fresh);
  for (const std::string& name : names) file << name << '\n';
  file.close();
  return file && std::rename(fresh.c_str(), options.port_file.c_str()) == 0;
}

// Until the workers have ended.
void Wait(Server& server, int signals) {
  signalfd_siginfo told{};
  int stops = 0;
  std::thread joiner;
  while (read(signals, &told, sizeof told) == sizeof told) {
    if (told.ssi_signo == SIGHUP) {
      spdlog::warn("SIGHUP: there is no configuration file to read again");
      continue;
    }
    if (told.ssi_signo == SIGUSR1) break;  // the workers have ended
    spdlog::info(stops == 0 ? "stopping: clients are answered first"
                            : "stopping at once");
    sd_notify(0, "STOPPING=1");
    server.Stop();
    if (stops++ == 0) {
      joiner = std::thread([&server] {
        server.Join();
        kill(getpid(), SIGUSR1);
      });
    }
  }
  if (joiner.joinable()) joiner.join();
}

int Serve(Arguments& arguments) {
  ServerOptions& options = arguments.options;
  const Result<Scheme> scheme = ParseScheme(arguments.scheme);
  if (!scheme) {
    spdlog::error("--scheme: {}", scheme.error().message());
    return kBadUsage;
  }
  options.client.scheme = *scheme;
  options.cluster.log = Log;
  if (options.cluster.max_parity == 0) options.cluster.max_parity = scheme->m;
  RaiseDescriptorLimit(options.max_connections);
  const std::string port_file = options.port_file;
  Result<std::unique_ptr<Server>> server = Server::Open(options);
  if (!server) {
    spdlog::error("{}", server.error().message());
    return kBadUsage;
  }
  const int signals = OpenSignals();
  (*server)->Start();
  const std::vector<std::string> names = (*server)->listener_names();
  for (const std::string& name : names) spdlog::info("listening on {}", name);
  int exit_code = kDone;
  if (WritePortFile(options, names)) {
    sd_notify(0, "READY=1");
    Wait(**server, signals);
  } else {
    spdlog::error("--port-file {}: cannot be written", port_file);
    exit_code = kFailed;
    (*server)->Stop();
    (*server)->Join();
  }
  close(signals);
  spdlog::info("ended");
  return exit_code;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Speaks the memcached protocol to any client and keeps its values on "
      "plain memcached servers, erasure coded.",
      "ersproxy");
  app.set_version_flag("--version", "ersproxy " ERS_VERSION);
  app.footer(kFooter);
  Arguments arguments;
  AddArguments(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kBadUsage;
  }
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "ersproxy", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_level(spdlog::level::from_str(arguments.log_level));
  return Serve(arguments);
}

}  // namespace
}  // namespace ers::proxy

int main(int argc, char** argv) { return ers::proxy::Main(argc, argv); }
