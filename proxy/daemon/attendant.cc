#include "daemon/attendant.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "metrics/event_log.h"
#include "server/descriptors.h"
#include "shared/log.h"

namespace ers::proxy {
namespace {

using Clock = std::chrono::steady_clock;
using Word = HandoverChannel::Word;

// So long a new process may take until it can serve, and then until it does;
// and then a client for the request that it has begun to send, or for the
// answer that it reads, before it is cut off.
constexpr std::chrono::seconds kHandoverPatience{60};

// The sender; of the kernel's own, as by a terminal, none.
std::string SenderOf(const signalfd_siginfo& info) {
  return fmt::format("{} by process {} of user {}",
                     info.ssi_signo == SIGHUP    ? "SIGHUP"
                     : info.ssi_signo == SIGUSR2 ? "SIGUSR2"
                     : info.ssi_signo == SIGINT  ? "SIGINT"
                                                 : "SIGTERM",
                     info.ssi_pid, info.ssi_uid);
}

// An event of the daemon, which is logged, too.
void Note(LogLevel level, std::string_view text) {
  EventLog::OfProcess().Add(EventKind::kDaemon, level, text);
}

// Waits for its end. `well`: as of a process that was to end.
std::string HowItEnded(pid_t pid, bool& well) {
  int status = 0;
  const bool known = waitpid(pid, &status, 0) == pid;
  well = known && status == 0;
  if (!known) return "has ended";
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {}", WTERMSIG(status));
  }
  return fmt::format("has ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

Attendant::Attendant(const Arguments& arguments, ServerOptions& running,
                     Daemon& daemon, int signals,
                     std::optional<HandoverChannel> before)
    : arguments_(arguments),
      running_(running),
      daemon_(daemon),
      signals_(signals),
      before_(std::move(before)) {}

bool Attendant::Run() {
  while (!ended_) {
    // A negative one is passed over.
    std::array<pollfd, 3> all = {
        pollfd{signals_, POLLIN, 0},
        pollfd{successor_ ? successor_->channel->descriptor() : -1, POLLIN, 0},
        pollfd{before_ ? before_->descriptor() : -1, POLLIN, 0}};
    if (poll(all.data(), all.size(), WaitMs()) < 0) continue;
    if (all[0].revents != 0) {
      signalfd_siginfo info{};
      if (read(signals_, &info, sizeof info) == sizeof info) OnSignal(info);
    }
    if (all[1].revents != 0) OnSuccessor();
    if (all[2].revents != 0) OnBefore();
    if (patience_ends_ && Clock::now() >= *patience_ends_) OnHandoverLate();
  }
  if (joiner_.joinable()) joiner_.join();
  return well_;
}

int Attendant::WaitMs() const {
  if (!patience_ends_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      *patience_ends_ - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Attendant::OnSignal(const signalfd_siginfo& info) {
  if (info.ssi_signo == SIGUSR1) {  // the workers have ended
    ended_ = true;
    return;
  }
  const bool ends = info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
  if (!ends && (stops_ > 0 || gave_way_)) {
    return Note(LogLevel::kInfo,
                fmt::format("{}: passed over: this process {}", SenderOf(info),
                            stops_ > 0 ? "is stopping"
                                       : "gives its place to another one"));
  }
  if (info.ssi_signo == SIGHUP) {
    Note(LogLevel::kInfo, SenderOf(info));
    return Reload();
  }
  if (info.ssi_signo == SIGUSR2) {
    const bool may = !successor_ && !before_;
    Note(LogLevel::kInfo,
         fmt::format("{}: {}", SenderOf(info),
                     may ? "a new process is to take over"
                     : successor_
                         ? "another process is taking over already"
                         : "not yet: the process before still has clients"));
    if (may) BeginHandover();
    return;
  }
  const bool at_once = stops_ > 0 || handed_over_;
  Note(LogLevel::kInfo,
       fmt::format("{}: {}", SenderOf(info),
                   at_once ? "stopping at once"
                           : "stopping: clients are answered first"));
  Stop();
}

// --- Settings ----------------------------------------------------------------

// A bad file changes nothing.
void Attendant::Reload() {
  sd_notify(0, "RELOADING=1");
  if (arguments_.config.empty()) {
    spdlog::warn("SIGHUP: there is no configuration file to read again");
    sd_notify(0, "READY=1");
    return;
  }
  Result<ServerOptions> fresh = OptionsOf(arguments_);
  Status status = fresh ? Status() : fresh.error();
  if (status.ok()) {
    // What was chosen at the start is fixed by now.
    if (fresh->cluster.max_failures == 0 &&
        running_.places.count("max_failures") == 0) {
      fresh->cluster.max_failures = running_.cluster.max_failures;
    }
    status = CompleteOptions(*fresh);
  }
  if (fresh && daemon_.HasServers(fresh->cluster.servers)) {
    running_.cluster.servers = fresh->cluster.servers;
  }
  if (status.ok()) status = CheckReload(running_, *fresh);
  if (status.ok()) {
    running_ = std::move(*fresh);
    SetLogLevel(running_.log_level);
    RaiseDescriptorLimit(running_);
    daemon_.Reload(running_);
    Note(LogLevel::kInfo,
         fmt::format("reloaded {}: {} rules", running_.config_file,
                     running_.rules->list.size()));
    for (const std::string& warning : WarningsOf(running_)) {
      Note(LogLevel::kWarning, warning);
    }
  } else {
    Note(LogLevel::kError,
         fmt::format("not reloaded, the old settings stay: {}",
                     status.message()));
  }
  sd_notify(0, "READY=1");
}

// --- The end -----------------------------------------------------------------

void Attendant::Stop() {
  daemon_.Stop();
  sd_notify(0, "STOPPING=1");
  ++stops_;
  // What is not taken over any more finds this one gone.
  if (!handed_over_) patience_ends_.reset();
  EndSoon();
}

// Ends the wait once the workers have ended.
void Attendant::EndSoon() {
  if (joiner_.joinable()) return;
  joiner_ = std::thread([this] {
    daemon_.Join();
    kill(getpid(), SIGUSR1);
  });
}

// --- A process that takes over -----------------------------------------------

void Attendant::BeginHandover() {
  Result<Successor> successor =
      StartSuccessor(arguments_.command, daemon_.listening(), daemon_.kept());
  if (successor) {
    successor_.emplace(std::move(*successor));
    patience_ends_ = Clock::now() + kHandoverPatience;
    spdlog::info("process {} is started, to take over", successor_->pid);
  } else {
    spdlog::error("no process takes over, this one goes on: {}",
                  successor.error().message());
  }
}

void Attendant::OnSuccessor() {
  const std::optional<HandoverChannel::Message> message =
      successor_->channel->Receive();
  if (!message) return OnSuccessorGone();
  if (message->word == Word::kMayServe && stops_ == 0) {
    spdlog::info(
        "process {} can serve: jobs, backfilling and policies end "
        "here",
        successor_->pid);
    gave_way_ = true;
    daemon_.GiveWay();
    patience_ends_ = Clock::now() + kHandoverPatience;
    (void)successor_->channel->Send(Word::kPlaceIsFree);  // it may be gone
  } else if (message->word == Word::kServes && stops_ == 0) {
    spdlog::info(
        "process {} serves: clients are handed over, each between two "
        "requests",
        successor_->pid);
    // systemd sees the unit end with this one from now on, not before.
    sd_notify(0, fmt::format("MAINPID={}", successor_->pid).c_str());
    handed_over_ = true;
    patience_ends_ = Clock::now() + kHandoverPatience;
    daemon_.HandOver(successor_->channel);
    EndSoon();
  }
}

void Attendant::OnSuccessorGone() {
  bool ended_well = false;
  const std::string how = HowItEnded(successor_->pid, ended_well);
  if (!handed_over_) patience_ends_.reset();
  if (handed_over_) {
    spdlog::error("process {}, which took over, {}", successor_->pid, how);
    if (!ended_well) well_ = false;  // no process serves
  } else if (gave_way_) {
    spdlog::error(
        "process {}, which was to take over, {}: this one ends, too, "
        "as jobs have ended here",
        successor_->pid, how);
    well_ = false;
    if (stops_ == 0) Stop();
  } else {
    spdlog::error("process {}, which was to take over, {}: this one goes on",
                  successor_->pid, how);
  }
  successor_.reset();
}

void Attendant::OnHandoverLate() {
  patience_ends_.reset();
  if (successor_ && !handed_over_) {
    spdlog::error(
        "process {}, which was to take over, does not say within {} s that it "
        "{}: it is killed",
        successor_->pid, kHandoverPatience.count(),
        gave_way_ ? "serves" : "can serve");
    kill(successor_->pid, SIGKILL);
    return OnSuccessorGone();
  }
  spdlog::warn(
      "{} clients were in the midst of a request or an answer for {} s "
      "more, and are cut off",
      daemon_.connections(), kHandoverPatience.count());
  daemon_.Stop();
}

// --- The process before ------------------------------------------------------

void Attendant::OnBefore() {
  std::optional<HandoverChannel::Message> message = before_->Receive();
  if (!message) {
    spdlog::info("the process before has ended; {} clients came from it",
                 taken_over_);
    before_.reset();
  } else if (message->word == Word::kClient && message->client.get() < 0) {
    spdlog::warn(
        "a client of the process before is lost: no file descriptor "
        "is left");
  } else if (message->word == Word::kClient) {
    ++taken_over_;
    daemon_.Adopt(std::move(message->client), std::move(message->unread));
  }
}

}  // namespace ers::proxy
