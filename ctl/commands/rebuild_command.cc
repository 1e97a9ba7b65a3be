#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/arguments.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

// Between two questions what a proxy does.
constexpr std::chrono::milliseconds kShowEvery(250);

struct RebuildArguments {
  RebuildOptions options;
  bool set = false;  // some option was given
  // Empty: no server is replaced.
  std::string old_server;
  std::string new_server;
};

std::string Label(const std::vector<std::string>& servers, std::uint64_t walk) {
  return fmt::format("walk {}: {}", walk, fmt::join(servers, ", "));
}

std::string ReportText(const RebuildReport& report) {
  std::string text;
  for (const std::string& server : report.backfilled) {
    text += fmt::format("{} is in sync\n", server);
  }
  if (report.backfilled.empty() && report.out.empty()) {
    text += "all servers are in sync\n";
  }
  text += fmt::format("stored {} of {}: {} read, {} written; {} lost\n",
                      proxy::CountText(report.blocks, "block"),
                      proxy::CountText(report.objects, "object"),
                      cli::BytesText(report.bytes_read),
                      cli::BytesText(report.bytes_written),
                      proxy::CountIsText(report.lost, "object"));
  return text;
}

// Some servers are not in sync, each with what is known of it.
Status StillOut(const std::vector<std::string>& out, std::string_view why) {
  return {StatusCode::kUnavailable,
          fmt::format("still out: {}{}{}: start what does not answer, with or "
                      "without its memory, or give its place to another: "
                      "ersctl replace",
                      fmt::join(out, "; "), why.empty() ? "" : ": ", why)};
}

std::string ReportJson(const RebuildReport& report) {
  const Json json = {{"backfilled", report.backfilled},
                     {"out", report.out},
                     {"objects", report.objects},
                     {"blocks", report.blocks},
                     {"lost", report.lost},
                     {"bytes_read", report.bytes_read},
                     {"bytes_written", report.bytes_written}};
  return Line(json);
}

Ending PrintReport(const GlobalOptions& global, const RebuildReport& report) {
  const Status printed =
      Print(global.json ? ReportJson(report) : ReportText(report));
  if (!printed.ok()) return {printed, true};
  if (!report.out.empty()) {
    return StillOut(report.out, "");
  }
  if (report.lost == 0) return Status();
  return {Status(StatusCode::kCorruption,
                 fmt::format("{} cannot be read any more: see ersctl verify",
                             proxy::CountText(report.lost, "object"))),
          kObjectsLost};
}

// The proxy backfills by itself: until all of its servers are in sync, or
// nothing happens for as long as --timeout says.
Ending Watch(const GlobalOptions& global) {
  Progress progress("rebuild", Progress::Unit::kObjects, 0);
  const std::chrono::duration<double> patience(global.timeout_seconds);
  auto moved = std::chrono::steady_clock::now();
  Json last;
  for (;;) {
    const Result<Json> answer = AskAdmin(global, Method::kGet, "/status");
    if (!answer) return answer.error();
    std::vector<std::string> out;
    for (const Json& server : (*answer)["servers"]) {
      const std::string state = server.value("state", std::string());
      if (state == MemberStateName(MemberState::kInSync)) continue;
      out.push_back(
          fmt::format("{} ({})", server.value("name", std::string()), state));
    }
    const Json backfill = answer->value("backfill", Json::object());
    if (out.empty()) {
      return PrintDone(global.json ? Line(backfill)
                                   : "all servers are in sync\n");
    }
    progress.set_label(
        Label(backfill.value("servers", std::vector<std::string>()),
              backfill.value("walk", std::uint64_t{0})));
    progress.set_total(backfill.value("objects_total", std::uint64_t{0}));
    progress.set_done(backfill.value("objects", std::uint64_t{0}));
    const Json left = backfill.value("seconds_left", Json());
    progress.set_seconds_left(left.is_number() ? left.get<double>() : -1);
    const auto now = std::chrono::steady_clock::now();
    if (backfill != last) moved = now;
    last = backfill;
    if (now - moved > patience) {
      const std::string why = backfill.value("last_error", std::string());
      return StillOut(out, why);
    }
    // The daemon sends no word of its own: it is asked again.
    std::this_thread::sleep_for(kShowEvery);
  }
}

Status ReplaceAtProxy(const GlobalOptions& global,
                      const RebuildArguments& arguments) {
  const Json asked = {{"old", arguments.old_server},
                      {"new", arguments.new_server}};
  const Result<Json> answer =
      AskAdmin(global, Method::kPost, "/v1/replace", asked.dump());
  return answer ? Status() : answer.error();
}

Ending RebuildAtProxy(const GlobalOptions& global,
                      const RebuildArguments& arguments) {
  if (arguments.set) {
    return Status(StatusCode::kInvalidArgument,
                  "--proxy: it goes by its own `backfill`: give no options");
  }
  if (!arguments.new_server.empty()) {
    const Status replaced = ReplaceAtProxy(global, arguments);
    if (!replaced.ok()) return replaced;
  }
  return Watch(global);
}

Ending Rebuild(const GlobalOptions& global, const RebuildArguments& arguments) {
  if (!global.proxy.empty()) return RebuildAtProxy(global, arguments);
  auto client = OpenClient(global);
  if (!client) return client.error();
  if (!arguments.new_server.empty()) {
    const Status replaced =
        (*client)->Replace(arguments.old_server, arguments.new_server);
    if (!replaced.ok()) return replaced;
  }
  RebuildOptions options = arguments.options;
  Result<RebuildReport> report = RebuildReport();
  {
    Progress progress("rebuild", Progress::Unit::kObjects, 0);
    std::uint64_t walk = 0;
    options.progress = [&progress, &walk](const RebuildProgress& now) {
      if (std::exchange(walk, now.walk) != now.walk) progress.BeginAgain();
      progress.set_label(Label(now.servers, now.walk));
      progress.set_total(now.total);
      progress.set_done(now.objects);
    };
    report = (*client)->Rebuild(options);
  }
  if (!report) return report.error();
  return PrintReport(global, *report);
}

// What both commands are asked, and what they do.
void AddOptions(CLI::App* command, Command& chosen,
                const std::shared_ptr<RebuildArguments>& arguments) {
  RebuildOptions& options = arguments->options;
  command
      ->add_option("--rate", options.bytes_per_second,
                   "Bytes a second that are read and written (default: no "
                   "limit)")
      ->transform(cli::AsBytes())
      ->type_name("BYTES");
  command
      ->add_option("--parallel", options.parallel,
                   "Objects at a time, each with a group's blocks in memory, "
                   "all with 64 MiB at most")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--slice", options.slice_keys,
                   "Keys in memory at a time, about 200 bytes each: where "
                   "there are more, the servers list theirs again")
      ->check(CLI::Range(1000, 100'000'000))
      ->capture_default_str()
      ->type_name("KEYS");
  command->callback([&chosen, arguments, command] {
    arguments->set = command->count("--rate") > 0 ||
                     command->count("--parallel") > 0 ||
                     command->count("--slice") > 0;
    chosen.run = [&chosen, arguments] {
      return Rebuild(chosen.global, *arguments);
    };
  });
}

void AddReplace(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RebuildArguments>();
  CLI::App* command = app.add_subcommand(
      "replace",
      "Gives a server's place to another, empty one, and backfills that");
  command
      ->add_option("OLD", arguments->old_server,
                   "Address of the server that is replaced, dead or alive")
      ->required()
      ->check(NotEmpty());
  command
      ->add_option("NEW", arguments->new_server,
                   "Address of an empty memcached")
      ->required()
      ->check(NotEmpty());
  AddOptions(command, chosen, arguments);
  command->footer(
      "Processes that run follow; those that start do so with either address "
      "in their list.\n"
      "Cut off, it is to be run again. Exit codes as of rebuild.\n"
      "Example: ersctl --proxy localhost:11280 replace 10.0.0.3:11211 "
      "10.0.0.9:11211");
}

}  // namespace

void AddRebuild(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RebuildArguments>();
  CLI::App* command = app.add_subcommand(
      "rebuild",
      "Backfills servers that came back empty, until they are in sync");
  AddOptions(command, chosen, arguments);
  command->footer(
      "With --proxy it only watches what the proxy does by itself, until its "
      "servers are in sync.\n"
      "Exit codes beside those of all commands: 6 some objects cannot be read "
      "any more.\n"
      "Example: ersctl rebuild --rate 50MB/s");
  AddReplace(app, chosen);
}

}  // namespace ers::ctl
