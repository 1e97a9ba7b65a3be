// ersctl top: a cluster at a glance, again and again.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/commands/top_text.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/admin_text.h"
#include "ctl/support/arguments.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

// A daemon that is gone is to be seen soon.
constexpr double kMaxTimeoutS = 5;
// ANSI: another screen without a cursor, and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kFromTop = "\x1b[H";
constexpr std::string_view kEraseRest = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

struct TopArguments {
  bool once = false;
  double interval_s = 2;
};

struct Seen {
  Json status;
  Json events = Json::array();
};

Result<Seen> Ask(const GlobalOptions& global) {
  Result<Json> status = AskAdmin(global, Method::kGet, "/status");
  if (!status) return Fail(status.error());
  if (TextIn(*status, "health").empty()) {
    return Fail(StatusCode::kIncompatible,
                fmt::format("{}: its /status has no health: is it an "
                            "ersproxy's admin address, and as new as this?",
                            global.proxy));
  }
  const Result<Json> events = AskAdmin(global, Method::kGet, "/events");
  if (!events) return Fail(events.error());
  return Seen{std::move(*status), ListIn(*events, "events")};
}

Screen ThisScreen() {
  Screen screen;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return screen;
  // As https://no-color.org says.
  const char* no_colour = std::getenv("NO_COLOR");
  screen.colours = no_colour == nullptr || *no_colour == '\0';
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    screen.columns = size.ws_col;
    screen.lines = size.ws_row;
  }
  return screen;
}

Ending ShowOnce(const GlobalOptions& global) {
  const Result<Seen> seen = Ask(global);
  if (!seen) return seen.error();
  if (global.json) return PrintRead(Line(seen->status));
  Screen screen = ThisScreen();
  screen.lines = 0;
  return PrintRead(
      TopText(seen->status, seen->events, global.proxy, "", screen));
}

// Signals that end it, or say that the window has another size, are waited for.
class Signals {
 public:
  Signals() {
    sigemptyset(&awaited_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
      sigaddset(&awaited_, number);
    }
    sigprocmask(SIG_BLOCK, &awaited_, nullptr);
  }
  // For so long. False: it is to end.
  [[nodiscard]] bool Wait(std::chrono::nanoseconds time) const {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    timespec left{};
    left.tv_sec = seconds.count();
    left.tv_nsec = (time - seconds).count();
    const int number = sigtimedwait(&awaited_, nullptr, &left);
    return number < 0 || number == SIGWINCH;
  }

 private:
  sigset_t awaited_{};
};

// Over the frame before, line by line, so that nothing flickers.
std::string Painted(std::string_view frame) {
  std::string text(kFromTop);
  for (const char c : frame) {
    if (c == '\n') text += kEraseRest;
    text += c;
  }
  text += kEraseBelow;
  return text;
}

Ending Watch(GlobalOptions global, const TopArguments& arguments) {
  global.timeout_seconds = std::min(global.timeout_seconds, kMaxTimeoutS);
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const Signals signals;
  // What cannot be asked from the start is an error, and no frame.
  Result<Seen> first = Ask(global);
  if (!first) return first.error();
  Seen seen = std::move(*first);
  std::string lost;
  Status printed = Print(terminal ? kEnter : "");
  const auto interval = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(arguments.interval_s));
  while (printed.ok()) {
    const std::string frame =
        TopText(seen.status, seen.events, global.proxy, lost, ThisScreen());
    printed = Print(terminal ? Painted(frame) : frame + "\n");
    if (!printed.ok() || OutputHasEnded() || !signals.Wait(interval)) break;
    Result<Seen> now = Ask(global);
    lost = now ? "" : std::string(now.error().message());
    if (now) seen = std::move(*now);
  }
  const Status left = Print(terminal ? kLeave : "");
  return {printed.ok() ? left : printed, kReportLost};
}

}  // namespace

void AddTop(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<TopArguments>();
  CLI::App* top =
      app.add_subcommand("top", "Shows a cluster at a glance, again and again");
  top->add_flag("--once", arguments->once,
                "Shows it once and ends; with --json all that is known");
  top->add_option("--interval", arguments->interval_s,
                  "Between two times (default: 2)")
      ->transform(cli::AsSeconds())
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS");
  top->footer(
      "Goes to the admin address of an ersproxy. Ctrl-C ends it.\n"
      "Example: ersctl --proxy localhost:11280 top");
  top->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return arguments->once || chosen.global.json
                 ? ShowOnce(chosen.global)
                 : Watch(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
