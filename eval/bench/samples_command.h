// The options of `ers-bench samples`.
#ifndef ERS_EVAL_BENCH_SAMPLES_COMMAND_H_
#define ERS_EVAL_BENCH_SAMPLES_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench/cell_bench.h"

namespace ers::bench {

struct SamplesArguments {
  CellOptions options;
  std::vector<std::string> cells;
};

// `arguments` outlives the parsing.
void AddSamplesCommand(CLI::App* app, SamplesArguments* arguments);

// CSV of what was asked for.
Result<std::string> RunSamples(SamplesArguments& arguments);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_SAMPLES_COMMAND_H_
