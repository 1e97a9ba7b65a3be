// ersproxy: any memcached client, on erasure-coded servers.
#include <event2/event.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "admin/metrics_list.h"
#include "base/mutex.h"
#include "cli/describe.h"
#include "cli/usage.h"
#include "config/arguments.h"
#include "config/import.h"
#include "config/machine.h"
#include "daemon/attendant.h"
#include "daemon/daemon.h"
#include "daemon/handover.h"
#include "metrics/event_log.h"
#include "server/descriptors.h"
#include "shared/log.h"

namespace ers::proxy {
namespace {

enum ExitCode { kDone = 0, kBadUsage = 2, kFailed = 3 };

// So long the start waits for the first check of the servers.
constexpr std::chrono::seconds kFirstCheck{2};

constexpr const char* kFooter = R"(
Examples:
  ersproxy --config /etc/ersproxy.yaml
  ersproxy --import /etc/nutcracker/nutcracker.yml > /etc/ersproxy.yaml
  ersproxy --listen 127.0.0.1:11311 --scheme ers2:4,1,5 \
    --servers 10.0.0.1:11211,10.0.0.2:11211,...

SIGTERM and SIGINT take no more clients, answer what was asked and end; the
second one cuts off. SIGHUP reads the file of --config again: rules, policies,
backfill, limits, the token, trace_sample and the log's level change, clients stay
connected.
SIGUSR2 starts the program anew, with the same arguments: once that can serve, it
takes over all clients, and this process ends.
Exit codes: 0 ended so, 2 bad usage, or other servers, weights or f than those of the
cluster, 3 failed.)";

// Blocked before the first thread starts, so that all of them have it so.
int OpenSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2})
    sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

// "": it is written; else why not.
std::string WritePortFile(const ServerOptions& options,
                          const std::vector<std::string>& names) {
  if (options.port_file.empty()) return {};
  // A program that waits for the file finds it whole.
  const std::string fresh = options.port_file + ".new";
  std::ofstream file(fresh);
  for (const std::string& name : names) file << name << '\n';
  file.close();
  const bool written =
      file && std::rename(fresh.c_str(), options.port_file.c_str()) == 0;
  return written ? std::string() : std::generic_category().message(errno);
}

// What is sent to systemd, or to what stands in for it.
class Notices {
 public:
  ServingWatch::Changed OnServing() {
    return [this](const ServingState& state) {
      const MutexLock lock(mutex_);
      state_ = state;
      if (ready_) Notify(state);
      checked_.notify_all();
    };
  }
  // What the first check of the servers says, if it is over soon: OK where it
  // serves, or may later.
  Status AwaitFirstCheck() {
    MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + kFirstCheck;
    while (!state_ && lock.WaitUntil(checked_, end)) {
    }
    const bool refused =
        state_ && state_->status.code() == StatusCode::kIncompatible;
    return refused ? state_->status : Status();
  }
  void Ready() {
    const MutexLock lock(mutex_);
    sd_notify(0, "READY=1");
    ready_ = true;
    if (state_) Notify(*state_);
  }

 private:
  static void Notify(const ServingState& state) {
    const std::string text =
        state.serves() ? std::string("serving")
                       : fmt::format("not serving: {}", state.status.message());
    sd_notify(0, fmt::format("STATUS={}", text).c_str());
  }

  Mutex mutex_;
  std::condition_variable checked_;
  std::optional<ServingState> state_ ERS_GUARDED_BY(mutex_);
  bool ready_ ERS_GUARDED_BY(mutex_) = false;
};

// `names`, of which the last is the admin port's where there is one.
std::string ListenersText(std::vector<std::string> names, bool has_admin) {
  std::string admin;
  if (has_admin) {
    admin = "; admin port " + names.back();
    names.pop_back();
  }
  return fmt::format("{}{}", fmt::join(names, ", "), admin);
}

int Serve(const Arguments& arguments, ServerOptions options) {
  options.cluster.log = LogLine;
  // What it would print on standard error, as of each name server that is
  // silent.
  event_set_log_callback(
      [](int, const char* line) { LogLine(LogLevel::kDebug, line); });
  RaiseDescriptorLimit(options);
  Result<Inheritance> inheritance = TakeInheritance();
  if (!inheritance) {
    spdlog::error("{}", inheritance.error().message());
    return kBadUsage;
  }
  const int signals = OpenSignals();
  if (geteuid() == 0 && options.user.empty()) {
    spdlog::warn("this runs as root: give --user, or start it as another user");
  }
  Notices notices;
  Result<std::unique_ptr<Daemon>> daemon = Daemon::Open(options, *inheritance);
  if (!daemon) {
    spdlog::error("{}", daemon.error().message());
    return kBadUsage;
  }
  (*daemon)->OnServing(notices.OnServing());
  const Status started = (*daemon)->Start();
  if (!started.ok()) {
    spdlog::error("{}", started.message());
    return kBadUsage;
  }
  const std::vector<std::string> names = (*daemon)->listener_names();
  EventLog::OfProcess().Add(EventKind::kDaemon, LogLevel::kInfo,
                            "ersproxy " ERS_VERSION " has started");
  spdlog::info("listening on {}", ListenersText(names, !options.admin.empty()));
  int exit_code = kDone;
  const Status fits = notices.AwaitFirstCheck();
  if (!fits.ok()) {
    spdlog::error("{}", fits.message());
    exit_code = kBadUsage;
    (*daemon)->Stop();
    (*daemon)->Join();
  } else if (const std::string why = WritePortFile(options, names);
             why.empty()) {
    notices.Ready();
    // Where it is gone, there is nothing to take over any more.
    std::optional<HandoverChannel>& before = inheritance->before;
    if (before) (void)before->Send(HandoverChannel::Word::kServes);
    Attendant attendant(arguments, options, **daemon, signals,
                        std::move(before));
    if (!attendant.Run()) exit_code = kFailed;
  } else {
    spdlog::error("--port-file {}: cannot be written: {}", options.port_file,
                  why);
    exit_code = kFailed;
    (*daemon)->Stop();
    (*daemon)->Join();
  }
  close(signals);
  spdlog::info("ended");
  return exit_code;
}

// As this process was started. A new program may be in the place of this one
// by then, so it is named as it was.
std::vector<std::string> CommandOf(int argc, char** argv) {
  std::vector<std::string> command(argv, argv + argc);
  std::error_code error;
  const bool named = command.front().find('/') != std::string::npos;
  const auto path =
      named ? std::filesystem::absolute(command.front(), error)
            : std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) command.front() = path.string();
  return command;
}

int Refuse(const Status& status) {
  fmt::print(stderr, "ersproxy: {}\n", status.message());
  return kBadUsage;
}

int Import(const CLI::App& app, const Arguments& arguments) {
  const Result<std::string> settings =
      ImportSettings(arguments.import, arguments.pool);
  if (!settings) return Refuse(settings.error());
  return cli::Print(app, *settings) ? kDone : kFailed;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Speaks the memcached protocol to any client and keeps its values on "
      "plain memcached servers, erasure coded.",
      "ersproxy");
  app.set_version_flag("--version", "ersproxy " ERS_VERSION);
  cli::AddCompletion(app);  // its page is man/ersproxy.8
  app.footer(kFooter);
  Arguments arguments;
  arguments.command = CommandOf(argc, argv);
  AddArguments(app, arguments);
  const std::optional<int> ended = cli::Parse(app, argc, argv);
  if (ended) return *ended;
  if (arguments.list_metrics) {
    return cli::Print(app, MetricsList()) ? kDone : kFailed;
  }
  if (!arguments.import.empty()) return Import(app, arguments);
  Result<ServerOptions> options = OptionsOf(arguments);
  Status status = options ? CompleteOptions(*options) : options.error();
  if (status.ok()) status = CheckFolders(*options);
  if (status.ok() && !arguments.check_config.empty()) {
    status = CheckNames(*options);
  }
  if (!status.ok()) return Refuse(status);
  if (!arguments.check_config.empty()) {
    for (const std::string& warning : WarningsOf(*options)) {
      fmt::print(stderr, "ersproxy: warning: {}\n", warning);
    }
    const std::string good =
        fmt::format("{} is good: {} rules\n", arguments.check_config,
                    options->rules->list.size());
    return cli::Print(app, good) ? kDone : kFailed;
  }
  OpenLog(options->log_format);
  SetLogLevel(options->log_level);
  for (const std::string& warning : WarningsOf(*options)) {
    spdlog::warn("{}", warning);
  }
  return Serve(arguments, std::move(*options));
}

}  // namespace
}  // namespace ers::proxy

int main(int argc, char** argv) { return ers::proxy::Main(argc, argv); }
