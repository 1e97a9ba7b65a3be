#include "bench/samples_command.h"

namespace ers::bench {

void AddSamplesCommand(CLI::App* app, SamplesArguments* arguments) {
  CellOptions& options = arguments->options;
  CLI::App* command = app->add_subcommand(
      "samples",
      "Time operations of given cells on given servers, one row each, with the "
      "bytes at the sockets");
  command->add_option("--servers", options.servers, "host:port,...")
      ->required();
  command
      ->add_option("--cell", arguments->cells,
                   "WAY,K,M,KP,BYTES,THRESHOLD,CASE+CASE...; may be repeated")
      ->required();
  command->add_option("--reps", options.repetitions, "Counted repetitions")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command->add_option("--warm-ups", options.warm_ups, "Repetitions before them")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  command
      ->add_option("--cell-seconds", options.cell_seconds,
                   "A cell that took longer has no further repetitions")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e9));
  command->add_option("--interface", options.interface,
                      "Network interface whose bytes are counted");
  command
      ->add_option("--seed", options.seed,
                   "Of contents and of the order of turns")
      ->required();
}

Result<std::string> RunSamples(SamplesArguments& arguments) {
  for (const std::string& text : arguments.cells) {
    auto cell = ParseCell(text);
    if (!cell.has_value()) return Fail(cell.error());
    arguments.options.cells.push_back(std::move(*cell));
  }
  const auto samples = RunCells(arguments.options);
  if (!samples.has_value()) return Fail(samples.error());
  return RenderCells(arguments.options, *samples);
}

}  // namespace ers::bench
