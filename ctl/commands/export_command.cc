#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/outcomes.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "ctl/support/selection.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

struct ExportArguments {
  Selection selection;
  bool dry_run = false;
};

// What became of the objects, and the bytes of the values that are exported.
struct ExportCounts : Outcomes {
  std::uint64_t bytes = 0;
};

std::string ReportJson(const ExportArguments& arguments,
                       const ExportCounts& counts) {
  const Json json = {
      {"dry_run", arguments.dry_run},  {"selected", counts.selected},
      {"exported", counts.done},       {"bytes", counts.bytes},
      {"already", counts.already},     {"gone", counts.gone},
      {"too_large", counts.too_large}, {"failed", counts.failed},
      {"errors", counts.ErrorsJson()}};
  return Line(json);
}

std::string ReportText(const ExportArguments& arguments,
                       const ExportCounts& counts) {
  return counts.ErrorsText() +
         fmt::format(
             "{} {} of {} ({}); {} were plain items already, {} gone, "
             "{} too large, {} failed\n",
             arguments.dry_run ? "would export" : "exported", counts.done,
             proxy::CountText(counts.selected, "object"),
             cli::BytesText(counts.bytes), counts.already, counts.gone,
             counts.too_large, counts.failed);
}

Ending Export(const GlobalOptions& global, const ExportArguments& arguments) {
  const Selection& selection = arguments.selection;
  const Status fits = CheckSelection(selection);
  if (!fits.ok()) return fits;
  auto client = arguments.dry_run ? OpenReader(global) : OpenClient(global);
  if (!client) return client.error();
  const auto keys = SelectKeys(**client, selection);
  if (!keys) return keys.error();
  const ExportMode mode =
      arguments.dry_run ? ExportMode::kCheckOnly : ExportMode::kExport;
  ExportCounts counts;
  {
    Progress progress("export", Progress::Unit::kObjects, keys->size());
    for (const std::string& key : *keys) {
      const Result<ObjectInfo> result = (*client)->Export(key, mode);
      counts.Add(key,
                 result ? Status() : WhyFailed(**client, key, result.error()),
                 !selection.Walks());
      if (result) counts.bytes += result->length;
      progress.Advance(1);
    }
  }
  const Status printed = Print(global.json ? ReportJson(arguments, counts)
                                           : ReportText(arguments, counts));
  return counts.End(printed, "exported");
}

}  // namespace

void AddExport(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand(
      "export", "Turns objects back into plain memcached items");
  AddSelection(*command, arguments->selection);
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
