// ers-analyze: blocks that transitions read and write, counted in the plans
// that production runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "analysis/chain_counts.h"
#include "analysis/column_counts.h"
#include "analysis/counts.h"
#include "analysis/form_counts.h"
#include "analysis/format_option.h"
#include "analysis/output.h"
#include "analysis/parity_counts.h"
#include "analysis/render.h"
#include "analysis/script.h"
#include "analysis/table1.h"
#include "cli/describe.h"
#include "cli/usage.h"

namespace {

using ers::Result;
using ers::Status;
using ers::StatusCode;
using ers::analysis::AddFormatOption;
using ers::analysis::Format;
using ers::analysis::Print;
using ers::analysis::Row;

using ers::cli::kBadUsage;
constexpr int kExitFailed = 3;

struct Arguments {
  Format format = Format::kTable;
  ers::analysis::Parameters parameters;
  int to = 0;
  std::string widths;  // of a chain
  std::string scheme;
  std::string directory;
  std::string python = "python3";
};

Status PrintRows(const Result<std::vector<Row>>& rows, Format format) {
  if (!rows.has_value()) return rows.error();
  return Print(ers::analysis::RenderRows(*rows, format));
}

Status Count(const Arguments& arguments) {
  return PrintRows(ers::analysis::CountAll(arguments.parameters),
                   arguments.format);
}

Status Parity(const Arguments& arguments) {
  const auto rows =
      ers::analysis::CountParity(arguments.parameters, arguments.to);
  if (!rows.has_value()) return rows.error();
  return Print(ers::analysis::RenderParity(*rows, arguments.format));
}

Status Columns(const Arguments& arguments) {
  const auto rows = ers::analysis::CountColumns(arguments.parameters);
  if (!rows.has_value()) return rows.error();
  return Print(ers::analysis::RenderColumns(*rows, arguments.format));
}

Status Chain(const Arguments& arguments) {
  const auto rows =
      ers::analysis::CountChain(arguments.widths, arguments.parameters.m);
  if (!rows.has_value()) return rows.error();
  return Print(ers::analysis::RenderChain(*rows, arguments.format));
}

Status Both(const Arguments& arguments) {
  const auto rows = ers::analysis::CountForms(arguments.scheme, arguments.to);
  if (!rows.has_value()) return rows.error();
  return Print(ers::analysis::RenderForms(*rows, arguments.format));
}

void AddBoth(CLI::App* command, Arguments& arguments) {
  command->add_option("SCHEME", arguments.scheme, "As ers2:4,1,5")->required();
  command->add_option("TO", arguments.to, "Parity blocks afterwards")
      ->required();
  AddFormatOption(command, &arguments.format);
}

void AddChain(CLI::App* command, Arguments& arguments) {
  command->add_option("WIDTHS", arguments.widths, "As 4-6-12: 2 to 4 widths")
      ->required();
  command->add_option("--m", arguments.parameters.m, "Parity blocks")
      ->required();
  AddFormatOption(command, &arguments.format);
}

// K, M and KP.
void AddParameters(CLI::App* command, Arguments& arguments) {
  command->add_option("K", arguments.parameters.k, "Data blocks, narrow")
      ->required();
  command->add_option("M", arguments.parameters.m, "Parity blocks")->required();
  command->add_option("KP", arguments.parameters.kp, "Data blocks, wide")
      ->required();
}

Status Sweep(const Arguments& arguments) {
  return PrintRows(ers::analysis::CountAll(ers::analysis::SweepSets()),
                   arguments.format);
}

Status Table1(const Arguments& arguments) {
  const auto rows = ers::analysis::CountAll(ers::analysis::SweepSets());
  if (!rows.has_value()) return rows.error();
  return Print(ers::analysis::RenderTable1(ers::analysis::Table1(*rows),
                                           arguments.format));
}

Status WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.fail()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("cannot write {}", path.string())};
  }
  return {};
}

Status Figures(const Arguments& arguments) {
  const auto script = ers::analysis::FindFiguresScript();
  if (!script.has_value()) return script.error();
  const auto chosen = ers::analysis::CountAll(ers::analysis::FigureSets());
  if (!chosen.has_value()) return chosen.error();
  const auto sweep = ers::analysis::CountAll(ers::analysis::SweepSets());
  if (!sweep.has_value()) return sweep.error();

  const std::filesystem::path directory(arguments.directory);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return {StatusCode::kInvalidArgument,
            fmt::format("cannot make the directory {}: {}", directory.string(),
                        error.message())};
  }
  // The rows stay beside the figures: they are what the figures show.
  const auto chosen_path = directory / "figure-sets.csv";
  const auto sweep_path = directory / "sweep.csv";
  Status written =
      WriteFile(chosen_path, ers::analysis::RenderRows(*chosen, Format::kCsv));
  if (!written.ok()) return written;
  written =
      WriteFile(sweep_path, ers::analysis::RenderRows(*sweep, Format::kCsv));
  if (!written.ok()) return written;
  return ers::analysis::RunProgram({arguments.python, *script,
                                    chosen_path.string(), sweep_path.string(),
                                    directory.string()});
}

int Report(const Status& status) {
  if (status.ok()) return 0;
  fmt::print(stderr, "ers-analyze: {}\n", status.message());
  return status.code() == StatusCode::kInvalidArgument ? kBadUsage
                                                       : kExitFailed;
}

int Run(int argc, char** argv) {
  CLI::App app(
      "Counts the blocks that transitions between RS(K,M) and RS(KP,M), or to "
      "another M, read and write, in the plans that libers runs.",
      "ers-analyze");
  app.set_version_flag("--version", "ers-analyze " ERS_VERSION);
  ers::cli::AddManual(app);
  ers::cli::AddCompletion(app);
  app.require_subcommand(1);
  Arguments arguments;

  CLI::App* count = app.add_subcommand("count", "One set of parameters");
  AddParameters(count, arguments);
  AddFormatOption(count, &arguments.format);
  CLI::App* parity = app.add_subcommand(
      "parity", "More or fewer parity blocks for one set of parameters");
  AddParameters(parity, arguments);
  parity->add_option("TO", arguments.to, "Parity blocks afterwards")
      ->required();
  AddFormatOption(parity, &arguments.format);
  CLI::App* columns = app.add_subcommand(
      "columns", "One set of parameters, for values stored in columns");
  AddParameters(columns, arguments);
  AddFormatOption(columns, &arguments.format);
  CLI::App* chain =
      app.add_subcommand("chain", "From every width of a chain to every other");
  AddChain(chain, arguments);
  CLI::App* both = app.add_subcommand(
      "both",
      "From every width to every other and to another M, in one step and two");
  AddBoth(both, arguments);
  CLI::App* sweep =
      app.add_subcommand("sweep", "The 244 sets of the paper's section 6.1");
  AddFormatOption(sweep, &arguments.format);
  CLI::App* table1 = app.add_subcommand(
      "table1", "The paper's table 1 and single figures beside ours");
  AddFormatOption(table1, &arguments.format);
  CLI::App* figures = app.add_subcommand(
      "figures",
      "Draw figures 9 and 10, and paper plan, optimal plan and "
      "lower bound, as PNG and SVG (needs matplotlib)");
  figures->add_option("DIR", arguments.directory, "Where to; made if missing")
      ->required();
  figures->add_option("--python", arguments.python, "Python 3 with matplotlib")
      ->capture_default_str();

  const std::optional<int> ended = ers::cli::Parse(app, argc, argv);
  if (ended) return *ended;
  if (count->parsed()) return Report(Count(arguments));
  if (parity->parsed()) return Report(Parity(arguments));
  if (columns->parsed()) return Report(Columns(arguments));
  if (chain->parsed()) return Report(Chain(arguments));
  if (both->parsed()) return Report(Both(arguments));
  if (sweep->parsed()) return Report(Sweep(arguments));
  if (table1->parsed()) return Report(Table1(arguments));
  return Report(Figures(arguments));
}

}  // namespace

int main(int argc, char** argv) { return Run(argc, argv); }
