#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/admin_text.h"
#include "ctl/support/arguments.h"
#include "ctl/support/key_text.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{200};
constexpr const char* kJobs = "/v1/jobs";

struct StartArguments {
  std::string to;
  std::string prefix;
  std::string pattern;
  std::optional<std::uint64_t> min_bytes;
  std::optional<std::uint64_t> max_bytes;
  std::optional<std::uint64_t> idle_seconds;
  std::optional<std::uint64_t> age_seconds;
  std::optional<std::uint64_t> parallel;
  std::optional<std::uint64_t> bytes_per_second;
  bool all = false;
  bool watch = false;
};

std::uint64_t Objects(const Json& job, const char* name) {
  const auto at = job.find("objects");
  return at == job.end() ? 0 : NumberIn(*at, name);
}

// Negative: unknown.
double SecondsLeft(const Json& job) {
  const auto at = job.find("seconds_left");
  return at != job.end() && at->is_number() ? at->get<double>() : -1;
}

bool HasEnded(const Json& job) {
  const std::string state = TextIn(job, "state");
  return state == "done" || state == "cancelled" || state == "failed";
}

// What everything here goes by is there.
bool IsJob(const Json& json) {
  return json.is_object() && !TextIn(json, "id").empty() &&
         !TextIn(json, "state").empty() && json.contains("objects") &&
         json["objects"].is_object() &&
         (!json.contains("select") || json["select"].is_object());
}

Status NoJobs(const GlobalOptions& global) {
  return {StatusCode::kIncompatible,
          fmt::format("{} answers, but not with jobs: is it the admin port of "
                      "an ersproxy that knows them?",
                      global.proxy)};
}

Result<Json> AskJob(const GlobalOptions& global, Method method,
                    const std::string& path, const std::string& body = "") {
  Result<Json> job = AskAdmin(global, method, path, body);
  if (job && !IsJob(*job)) return Fail(NoJobs(global));
  return job;
}

std::string LeftText(const Json& job) {
  const double seconds = SecondsLeft(job);
  return seconds < 0 ? "" : cli::SecondsText(seconds);
}

std::string JobText(const Json& job) {
  std::vector<std::vector<std::string>> rows = {
      {"job", TextIn(job, "id")},
      {"state", TextIn(job, "state")},
      {"to", TextIn(job, "to")},
      {"select", job.value("select", Json::object()).dump()}};
  for (const char* name :
       {"selected", "changed", "already", "gone", "failed", "left"}) {
    rows.push_back({name, proxy::CountText(Objects(job, name), "object")});
  }
  if (job.value("objects", Json::object()).contains("kept")) {
    rows.push_back({"kept", proxy::CountText(Objects(job, "kept"), "object")});
  }
  rows.push_back(
      {"traffic", fmt::format("{} read, {} written",
                              cli::BytesText(NumberIn(job, "bytes_read")),
                              cli::BytesText(NumberIn(job, "bytes_written")))});
  if (!LeftText(job).empty()) {
    rows.push_back({"time left", "about " + LeftText(job)});
  }
  if (!TextIn(job, "last_error").empty()) {
    rows.push_back({"last error", TextIn(job, "last_error")});
  }
  return Columns(rows);
}

std::string ListText(const Json& jobs) {
  std::vector<std::vector<std::string>> rows = {
      {"job", "state", "to", "selected", "changed", "failed", "left",
       "time left"}};
  for (const Json& job : jobs) {
    rows.push_back({TextIn(job, "id"), TextIn(job, "state"), TextIn(job, "to"),
                    fmt::format("{}", Objects(job, "selected")),
                    fmt::format("{}", Objects(job, "changed")),
                    fmt::format("{}", Objects(job, "failed")),
                    fmt::format("{}", Objects(job, "left")), LeftText(job)});
  }
  return Columns(rows);
}

Ending PrintJob(const GlobalOptions& global, const Result<Json>& job) {
  if (!job) return job.error();
  return PrintDone(global.json ? Line(*job) : JobText(*job));
}

// The id is a part of a path: nothing but what ids are made of goes there.
CLI::Validator IsId() {
  return {[](const std::string& id) {
            const bool number =
                !id.empty() && id.size() <= 20 &&
                id.find_first_not_of("0123456789") == std::string::npos;
            return number ? std::string()
                          : std::string("a job has a number: see job list");
          },
          "ID"};
}

void Show(const Json& job, Progress& progress) {
  const std::uint64_t selected = Objects(job, "selected");
  progress.set_label(fmt::format("job {} to {}: {}", TextIn(job, "id"),
                                 TextIn(job, "to"), TextIn(job, "state")));
  progress.set_total(selected);
  progress.set_done(selected - std::min(selected, Objects(job, "left")));
  progress.set_seconds_left(SecondsLeft(job));
}

// How a job ended decides, not that it could be watched.
Ending PrintEnd(const GlobalOptions& global, const Json& job) {
  const Status printed = Print(global.json ? Line(job) : JobText(job));
  if (!printed.ok()) return {printed, true};
  const std::string state = TextIn(job, "state");
  const std::uint64_t failed = Objects(job, "failed");
  if (state == "done" && failed == 0) return Status();
  const std::string error = TextIn(job, "last_error");
  return Status(StatusCode::kUnavailable,
                fmt::format("job {} is {}, {} failed{}{}", TextIn(job, "id"),
                            state, proxy::CountText(failed, "object"),
                            error.empty() ? "" : ": ", error));
}

// Until it ends. A proxy that is started anew in the meantime goes on with its
// jobs: it is waited for as long as for any answer.
Ending Watch(const GlobalOptions& global, const std::string& id) {
  const std::string path = fmt::format("{}/{}", kJobs, id);
  std::optional<Json> last;
  {
    Progress progress("job " + id, Progress::Unit::kObjects, 0);
    progress.set_seconds_left(-1);
    steady_clock::time_point heard = steady_clock::now();
    for (;;) {
      Result<Json> job = AskJob(global, Method::kGet, path);
      const std::chrono::duration<double> silence = steady_clock::now() - heard;
      if (job) {
        heard = steady_clock::now();
        last = std::move(*job);
        Show(*last, progress);
        if (HasEnded(*last)) break;
      } else if (!last || job.error().code() != StatusCode::kUnavailable ||
                 silence.count() > global.timeout_seconds) {
        return job.error();
      } else {
        progress.set_label(fmt::format("job {}: no answer", id));
        progress.set_seconds_left(-1);
      }
      // The daemon sends no word of its own: it is asked again.
      std::this_thread::sleep_for(kPollInterval);
    }
  }
  return PrintEnd(global, *last);
}

Result<Json> SelectionOf(const StartArguments& arguments) {
  Json select = Json::object();
  if (!arguments.prefix.empty()) {
    select.update(BytesJson("prefix", arguments.prefix));
  }
  if (!IsUtf8(arguments.pattern)) {
    return Fail(StatusCode::kInvalidArgument,
                "--pattern is no UTF-8: write other bytes as \\xNN");
  }
  if (!arguments.pattern.empty()) select["pattern"] = arguments.pattern;
  if (arguments.min_bytes) select["min_bytes"] = *arguments.min_bytes;
  if (arguments.max_bytes) select["max_bytes"] = *arguments.max_bytes;
  if (arguments.idle_seconds) select["idle_seconds"] = *arguments.idle_seconds;
  if (arguments.age_seconds) select["age_seconds"] = *arguments.age_seconds;
  if (select.empty() != arguments.all) {
    return Fail(StatusCode::kInvalidArgument,
                arguments.all
                    ? "--all takes every object: leave out --all, or what "
                      "chooses some"
                    : "say which objects: --prefix, --pattern, --min-bytes, "
                      "--max-bytes, --idle, --age, or --all");
  }
  return select;
}

Ending Create(const GlobalOptions& global, const Json& spec, bool watch) {
  const Result<Json> job =
      AskJob(global, Method::kPost, kJobs,
             spec.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!job || !watch) return PrintJob(global, job);
  return Watch(global, TextIn(*job, "id"));
}

Ending Start(const GlobalOptions& global, const StartArguments& arguments) {
  const Result<Json> select = SelectionOf(arguments);
  if (!select) return select.error();
  Json spec = {{"to", arguments.to}, {"select", *select}};
  if (arguments.parallel) spec["parallel"] = *arguments.parallel;
  if (arguments.bytes_per_second) {
    spec["bytes_per_second"] = *arguments.bytes_per_second;
  }
  return Create(global, spec, arguments.watch);
}

Ending List(const GlobalOptions& global) {
  const Result<Json> answer = AskAdmin(global, Method::kGet, kJobs);
  if (!answer) return answer.error();
  const auto found = answer->find("jobs");
  if (found == answer->end() || !found->is_array() ||
      !std::all_of(found->begin(), found->end(), IsJob)) {
    return NoJobs(global);
  }
  const Json& jobs = *found;
  return PrintRead(global.json ? Line(jobs) : ListText(jobs));
}

Ending Forget(const GlobalOptions& global, const std::string& id) {
  const Result<Json> answer =
      AskAdmin(global, Method::kDelete, fmt::format("{}/{}", kJobs, id));
  if (!answer) return answer.error();
  if (global.json) {
    return PrintDone(Line({{"id", id}, {"forgotten", true}}));
  }
  return PrintDone(fmt::format("job {}: forgotten\n", id));
}

Ending Order(const GlobalOptions& global, const std::string& id,
             std::string_view order) {
  return PrintJob(global, AskJob(global, Method::kPost,
                                 fmt::format("{}/{}/{}", kJobs, id, order)));
}

struct DeleteArguments {
  std::string prefix;
  std::string pattern;
  std::optional<std::uint64_t> parallel;
  std::optional<std::uint64_t> objects_per_second;
  bool watch = false;
};

Ending Delete(const GlobalOptions& global, const DeleteArguments& arguments) {
  StartArguments chosen;
  chosen.prefix = arguments.prefix;
  chosen.pattern = arguments.pattern;
  const Result<Json> select = SelectionOf(chosen);
  if (!select) return select.error();
  Json spec = {{"to", "delete"}, {"select", *select}};
  if (arguments.parallel) spec["parallel"] = *arguments.parallel;
  if (arguments.objects_per_second) {
    spec["objects_per_second"] = *arguments.objects_per_second;
  }
  return Create(global, spec, arguments.watch);
}

void AddDelete(CLI::App& job, Command& chosen) {
  auto arguments = std::make_shared<DeleteArguments>();
  CLI::App* command = job.add_subcommand(
      "delete", "Deletes all objects of a prefix, in the background");
  command
      ->add_option("--prefix", arguments->prefix,
                   "Objects whose key begins with this")
      ->required()
      ->transform(IsKey())
      ->type_name("TEXT");
  command
      ->add_option("--pattern", arguments->pattern,
                   "and whose whole key this regular expression (RE2) matches")
      ->type_name("REGEX");
  command
      ->add_option("--parallel", arguments->parallel,
                   "Deleted at a time (default: 4)")
      ->check(IsWhole())
      ->type_name("N");
  command
      ->add_option("--rate", arguments->objects_per_second,
                   "At most so many objects a second")
      ->check(IsWhole())
      ->type_name("OBJECTS");
  command->add_flag("--watch", arguments->watch,
                    "Stays, shows the progress, and ends with the job");
  command->footer(
      "Example: ersctl --proxy localhost:11280 job delete --prefix session: "
      "--rate 1000 --watch");
  command->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Delete(chosen.global, *arguments);
    };
  });
}

void AddStart(CLI::App& job, Command& chosen) {
  auto arguments = std::make_shared<StartArguments>();
  CLI::App* start =
      job.add_subcommand("start", "Changes many objects, in the background");
  start
      ->add_option("--to", arguments->to,
                   "narrow, wide or data blocks of a stripe, with ,M for as "
                   "many parity blocks (same,M: of the width that each has); "
                   "any scheme; or pack, for small values")
      ->required()
      ->type_name("TARGET");
  start
      ->add_option("--prefix", arguments->prefix,
                   "Objects whose key begins with this")
      ->transform(IsKey())
      ->type_name("TEXT");
  start
      ->add_option("--pattern", arguments->pattern,
                   "whose whole key this regular expression (RE2) matches")
      ->type_name("REGEX");
  const auto number = [start](const char* name,
                              std::optional<std::uint64_t>& into,
                              const char* help, const char* type) {
    return start->add_option(name, into, help)
        ->check(IsWhole())
        ->type_name(type);
  };
  number("--min-bytes", arguments->min_bytes, "of at least this length",
         "BYTES")
      ->transform(cli::AsBytes());
  number("--max-bytes", arguments->max_bytes, "of at most this length", "BYTES")
      ->transform(cli::AsBytes());
  number("--idle", arguments->idle_seconds, "that was not used for so long",
         "SECONDS")
      ->transform(cli::AsSeconds());
  number("--age", arguments->age_seconds, "that was not changed for so long",
         "SECONDS")
      ->transform(cli::AsSeconds());
  start->add_flag("--all", arguments->all, "Every object");
  number("--parallel", arguments->parallel, "Changed at a time (default: 4)",
         "N");
  number("--rate", arguments->bytes_per_second,
         "At most so many bytes a second, to and from the servers", "BYTES")
      ->transform(cli::AsBytes());
  start->add_flag("--watch", arguments->watch,
                  "Stays, shows the progress, and ends with the job");
  start->footer(
      "Example: ersctl --proxy localhost:11280 job start --to wide --idle "
      "7d --rate 50MB/s --watch");
  start->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Start(chosen.global, *arguments);
    };
  });
}

// A command that takes an id alone.
template <typename Action>
void AddById(CLI::App& job, Command& chosen, const char* name,
             const char* description, Action action) {
  auto id = std::make_shared<std::string>();
  CLI::App* command = job.add_subcommand(name, description);
  command->add_option("ID", *id)->required()->check(IsId());
  command->footer(
      fmt::format("Example: ersctl --proxy localhost:11280 job {} 1", name));
  command->callback([&chosen, id, action] {
    chosen.run = [&chosen, id, action] { return action(chosen.global, *id); };
  });
}

}  // namespace

void AddJobs(CLI::App& app, Command& chosen) {
  CLI::App* job = app.add_subcommand(
      "job",
      "Changes of many objects that an ersproxy makes (--proxy takes "
      "its admin address)");
  job->require_subcommand(1, 1);
  job->fallthrough();
  job->footer("Example: ersctl --proxy localhost:11280 job list");
  AddStart(*job, chosen);
  AddDelete(*job, chosen);
  CLI::App* list = job->add_subcommand("list", "Shows all jobs, newest first");
  list->callback(
      [&chosen] { chosen.run = [&chosen] { return List(chosen.global); }; });
  AddById(*job, chosen, "show", "Shows a job",
          [](const GlobalOptions& global, const std::string& id) {
            return PrintJob(global, AskJob(global, Method::kGet,
                                           fmt::format("{}/{}", kJobs, id)));
          });
  AddById(*job, chosen, "watch",
          "Shows a job's progress, and ends when the job does", Watch);
  const std::pair<const char*, const char*> orders[] = {
      {"pause", "Stops a job for now; objects under way are finished"},
      {"resume", "Lets a paused job go on"},
      {"cancel", "Ends a job; what is changed stays changed"}};
  for (const auto& [order, description] : orders) {
    AddById(*job, chosen, order, description,
            [word = order](const GlobalOptions& global, const std::string& id) {
              return Order(global, id, word);
            });
  }
  AddById(*job, chosen, "forget", "Removes a job that has ended", Forget);
}

}  // namespace ers::ctl
