#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/arguments.h"
#include "ctl/commands.h"
#include "ctl/key_selection.h"
#include "ctl/key_text.h"
#include "ctl/progress.h"
#include "ctl/report.h"

namespace ers::ctl {
namespace {

// Of the objects that could not be exported so many are named, the rest is
// counted: where servers are out they may be millions.
constexpr std::size_t kMaxNamed = 100;

struct ExportArguments {
  std::vector<std::string> keys;
  KeySelection selection;
  bool all = false;
  bool dry_run = false;

  [[nodiscard]] bool Walks() const { return all || Chooses(); }
  [[nodiscard]] bool Chooses() const {
    return !selection.prefix.empty() || !selection.pattern.empty();
  }
};

struct Refused {
  std::string key;
  Status status;
};

// What became of the objects.
struct Counts {
  std::uint64_t selected = 0;
  std::uint64_t exported = 0;
  std::uint64_t bytes = 0;  // values of those
  std::uint64_t already = 0;
  std::uint64_t gone = 0;
  std::uint64_t too_large = 0;
  std::uint64_t failed = 0;
  std::vector<Refused> named;
  Status worst;  // what the exit code shows

  // An object that was found by a walk may be gone since.
  void Add(const std::string& key, const Result<ObjectInfo>& result,
           bool named_by_user) {
    ++selected;
    if (result) {
      ++exported;
      bytes += result->length;
      return;
    }
    const StatusCode code = result.error().code();
    if (code == StatusCode::kAlreadyThere) {
      ++already;
      return;
    }
    if (code == StatusCode::kNotFound) {
      ++gone;
      if (!named_by_user) return;
    } else if (code == StatusCode::kTooLarge) {
      ++too_large;
    } else {
      ++failed;
    }
    if (named.size() < kMaxNamed) named.push_back({key, result.error()});
    if (ExitCodeOf(code) > ExitCodeOf(worst.code())) worst = result.error();
  }
};

std::string ReportJson(const ExportArguments& arguments, const Counts& counts) {
  Json json = {{"dry_run", arguments.dry_run},  {"selected", counts.selected},
               {"exported", counts.exported},   {"bytes", counts.bytes},
               {"already", counts.already},     {"gone", counts.gone},
               {"too_large", counts.too_large}, {"failed", counts.failed}};
  json["errors"] = Json::array();
  for (const Refused& refused : counts.named) {
    Json error = KeyJson(refused.key);
    error["code"] = StatusCodeName(refused.status.code());
    error["message"] = refused.status.message();
    json["errors"].push_back(error);
  }
  return Line(json);
}

std::string ReportText(const ExportArguments& arguments, const Counts& counts) {
  std::string text;
  for (const Refused& refused : counts.named) {
    text += fmt::format("{}: {}\n", KeyText(refused.key),
                        OneLine(refused.status.message()));
  }
  return text + fmt::format(
                    "{} {} of {} objects ({} bytes); {} were plain items "
                    "already, {} gone, {} too large, {} failed\n",
                    arguments.dry_run ? "would export" : "exported",
                    counts.exported, counts.selected, counts.bytes,
                    counts.already, counts.gone, counts.too_large,
                    counts.failed);
}

// The report says what is done and what not; the exit code does, too.
Ending PrintReport(const GlobalOptions& global,
                   const ExportArguments& arguments, const Counts& counts) {
  const Status printed = Print(global.json ? ReportJson(arguments, counts)
                                           : ReportText(arguments, counts));
  if (!printed.ok()) return {printed, true};
  if (counts.worst.ok()) return Status();
  return Status(counts.worst.code(),
                fmt::format("{} of {} objects are not exported; {}",
                            counts.selected - counts.exported - counts.already,
                            counts.selected, counts.worst.message()));
}

Ending Export(const GlobalOptions& global, const ExportArguments& arguments) {
  if (arguments.keys.empty() == !arguments.Walks()) {
    return Status(StatusCode::kInvalidArgument,
                  "name either keys, or which of all objects: --prefix, "
                  "--pattern, or --all");
  }
  if (arguments.all && arguments.Chooses()) {
    return Status(StatusCode::kInvalidArgument,
                  "--all takes every object: leave out --all, or what chooses "
                  "some");
  }
  const Status selection = CheckKeySelection(arguments.selection);
  if (!selection.ok()) return selection;
  auto client = arguments.dry_run ? OpenReader(global) : OpenClient(global);
  if (!client) return client.error();
  const auto keys = arguments.Walks()
                        ? ListKeys(**client, arguments.selection)
                        : Result<std::vector<std::string>>(arguments.keys);
  if (!keys) return keys.error();
  const ExportMode mode =
      arguments.dry_run ? ExportMode::kCheckOnly : ExportMode::kExport;
  Counts counts;
  {
    Progress progress("export", Progress::Unit::kObjects, keys->size());
    for (const std::string& key : *keys) {
      counts.Add(key, (*client)->Export(key, mode), !arguments.Walks());
      progress.Advance(1);
    }
  }
  return PrintReport(global, arguments, counts);
}

}  // namespace

void AddExport(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand(
      "export", "Turns objects back into plain memcached items");
  command->add_option("KEY", arguments->keys)->transform(IsKey());
  AddKeySelection(*command, arguments->selection);
  command->add_flag("--all", arguments->all, "Every object");
  command->add_flag("--dry-run", arguments->dry_run,
                    "Reads and checks all, changes nothing");
  command->footer("Example: ersctl export --prefix session: --dry-run");
  command->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Export(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
