// ersctl events: the event log of a daemon.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/admin_text.h"
#include "ctl/support/arguments.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFollowEvery{500};

struct EventArguments {
  std::optional<std::uint64_t> last;
  bool follow = false;
};

// The newest first.
Result<Json> AskEvents(const GlobalOptions& global) {
  const Result<Json> answer = AskAdmin(global, Method::kGet, "/events");
  if (!answer) return Fail(answer.error());
  Json events = ListIn(*answer, "events");
  const bool known =
      answer->contains("events") &&
      std::all_of(events.begin(), events.end(),
                  [](const Json& event) { return event.is_object(); });
  if (known) return events;
  return Fail(StatusCode::kIncompatible,
              fmt::format("{} answers, but not with events: is it the admin "
                          "port of an ersproxy that knows them?",
                          global.proxy));
}

// The newest event that was shown; id 0: none was.
struct Shown {
  std::uint64_t id = 0;
  std::uint64_t time_ms = 0;

  explicit Shown(const Json& events) {
    if (events.empty()) return;
    id = NumberIn(events.front(), "id");
    time_ms = NumberIn(events.front(), "time_ms");
  }
};

// Ids begin anew with each process, which shows by the times.
bool AreOfAnother(const Json& events, const Shown& shown) {
  if (events.empty() || NumberIn(events.front(), "id") < shown.id) return true;
  return std::any_of(events.begin(), events.end(), [&shown](const Json& event) {
    return NumberIn(event, "id") == shown.id &&
           NumberIn(event, "time_ms") != shown.time_ms;
  });
}

// What was not shown yet, the oldest first.
Json NewOf(const Json& events, const Shown& shown) {
  const std::uint64_t last = AreOfAnother(events, shown) ? 0 : shown.id;
  Json fresh = Json::array();
  for (const Json& event : events) {
    if (NumberIn(event, "id") > last) fresh.insert(fresh.begin(), event);
  }
  return fresh;
}

Ending PrintEvents(const GlobalOptions& global, const Json& events) {
  std::string text;
  for (const Json& event : events) {
    text += global.json ? Line(event) : EventText(event) + "\n";
  }
  return text.empty() ? Status() : PrintRead(text);
}

// Until the output ends, or the daemon has not answered for so long.
Ending Follow(const GlobalOptions& global, Shown shown) {
  steady_clock::time_point heard = steady_clock::now();
  for (;;) {
    // The daemon sends no word of its own: it is asked again.
    std::this_thread::sleep_for(kFollowEvery);
    if (OutputHasEnded()) return Status();
    const Result<Json> events = AskEvents(global);
    if (!events) {
      const std::chrono::duration<double> silence = steady_clock::now() - heard;
      if (events.error().code() == StatusCode::kUnavailable &&
          silence.count() <= global.timeout_seconds) {
        continue;
      }
      return events.error();
    }
    heard = steady_clock::now();
    Ending printed = PrintEvents(global, NewOf(*events, shown));
    if (!printed.status.ok()) return printed;
    shown = Shown(*events);
  }
}

Ending Events(const GlobalOptions& global, const EventArguments& arguments) {
  const Result<Json> events = AskEvents(global);
  if (!events) return events.error();
  Json last = NewOf(*events, Shown(Json::array()));
  const std::uint64_t most = arguments.last.value_or(last.size());
  while (last.size() > most) last.erase(last.begin());
  Ending printed = PrintEvents(global, last);
  if (!printed.status.ok() || !arguments.follow) return printed;
  return Follow(global, Shown(*events));
}

}  // namespace

void AddEvents(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<EventArguments>();
  CLI::App* events = app.add_subcommand(
      "events", "Shows what happened at a daemon, and which client asked");
  events
      ->add_option("--last", arguments->last,
                   "The last so many alone (default: all that it remembers)")
      ->check(IsWhole())
      ->type_name("N");
  events->add_flag("--follow", arguments->follow,
                   "Stays, and shows what happens from now on");
  events->footer(
      "Goes to the admin address of an ersproxy, which remembers 256 events.\n"
      "Example: ersctl --proxy localhost:11280 events --last 20 --follow");
  events->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Events(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
