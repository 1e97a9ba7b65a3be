// ers-bench: the library against what else could hold the same bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analysis/format_option.h"
#include "bench/check.h"
#include "bench/code_bench.h"
#include "bench/codes_bench.h"
#include "bench/contender.h"
#include "bench/own_network.h"
#include "bench/samples_command.h"
#include "bench/store_bench.h"
#include "cli/describe.h"
#include "cli/usage.h"

namespace {

using ers::Status;
using ers::StatusCode;
using ers::analysis::Format;
using ers::bench::Case;

constexpr int kExitMissed = 1;  // a promise of `check`
constexpr int kExitFailed = 3;
constexpr int kExitInterrupted = 130;

volatile std::sig_atomic_t stop_asked = 0;

void AskStop(int /*signal*/) { stop_asked = 1; }
bool StopAsked() { return stop_asked != 0; }

// Ctrl-C and friends end the run between two operations, so that the servers
// that it started are stopped.
void HandleSignals() {
  struct sigaction action{};
  action.sa_handler = AskStop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
}

struct Arguments {
  Format format = Format::kTable;
  std::string scheme = "ers2:4,1,5";
  std::vector<std::string> cases;
  int update_bytes = 4096;
  int keys = 4;
  int to = 2;
  ers::bench::StoreOptions store;
  ers::bench::CodeOptions code;
  ers::bench::CodesOptions codes;
  ers::bench::CheckOptions check;
  ers::bench::SamplesArguments samples;
  std::uint64_t seed = std::random_device{}();
};

int Report(const Status& status) {
  if (status.ok()) return 0;
  if (StopAsked()) {
    fmt::print(stderr, "ers-bench: interrupted\n");
    return kExitInterrupted;
  }
  fmt::print(stderr, "ers-bench: {}\n", status.message());
  return status.code() == StatusCode::kInvalidArgument ? ers::cli::kBadUsage
                                                       : kExitFailed;
}

// Rows alone go to standard output; what they rest on goes beside them.
void PrintSeed(const Arguments& arguments, int repetitions) {
  fmt::print(stderr, "seed {}, {} interleaved repetitions\n", arguments.seed,
             repetitions);
}

// Where the servers are this machine's own.
void EnterNetwork() {
  fmt::print(stderr, "congestion control: {}\n", ers::bench::EnterOwnNetwork());
}

int Print(const std::string& text) {
  return Report(ers::analysis::Print(text));
}

int Store(Arguments& arguments) {
  const auto scheme = ers::ParseScheme(arguments.scheme);
  if (!scheme.has_value()) return Report(scheme.error());
  ers::bench::StoreOptions& store = arguments.store;
  store.scheme = *scheme;
  // In one order, whatever the order given: backward follows forward.
  for (const Case c : ers::bench::kAllCases) {
    if (std::find(arguments.cases.begin(), arguments.cases.end(),
                  ers::bench::CaseName(c)) != arguments.cases.end()) {
      store.cases.push_back(c);
    }
  }
  store.keys = static_cast<std::size_t>(arguments.keys);
  store.update_bytes = static_cast<std::size_t>(arguments.update_bytes);
  store.seed = arguments.seed;
  store.stopped = StopAsked;
  PrintSeed(arguments, store.repetitions);
  if (store.servers.empty()) EnterNetwork();
  const auto rows = ers::bench::RunStore(store);
  if (!rows.has_value()) return Report(rows.error());
  return Print(ers::bench::RenderStore(*rows, arguments.format));
}

int Parity(Arguments& arguments) {
  const auto scheme = ers::ParseScheme(arguments.scheme);
  if (!scheme.has_value()) return Report(scheme.error());
  ers::bench::StoreOptions& store = arguments.store;
  store.scheme = *scheme;
  store.keys = static_cast<std::size_t>(arguments.keys);
  store.seed = arguments.seed;
  store.stopped = StopAsked;
  PrintSeed(arguments, store.repetitions);
  EnterNetwork();
  const auto rows = ers::bench::RunParity(store, arguments.to);
  if (!rows.has_value()) return Report(rows.error());
  return Print(ers::bench::RenderStore(*rows, arguments.format));
}

int Code(Arguments& arguments) {
  arguments.code.seed = arguments.seed;
  arguments.code.stopped = StopAsked;
  PrintSeed(arguments, arguments.code.repetitions);
  const auto rows = ers::bench::RunCode(arguments.code);
  if (!rows.has_value()) return Report(rows.error());
  return Print(ers::bench::RenderCode(*rows, arguments.format));
}

int Codes(Arguments& arguments) {
  arguments.codes.seed = arguments.seed;
  arguments.codes.stopped = StopAsked;
  PrintSeed(arguments, arguments.codes.repetitions);
  const auto rows = ers::bench::RunCodes(arguments.codes);
  if (!rows.has_value()) return Report(rows.error());
  return Print(ers::bench::RenderCodes(*rows, arguments.format));
}

int Check(Arguments& arguments) {
  arguments.check.seed = arguments.seed;
  arguments.check.stopped = StopAsked;
  PrintSeed(arguments, arguments.check.repetitions);
  EnterNetwork();
  const auto verdicts = ers::bench::RunCheck(arguments.check);
  if (!verdicts.has_value()) return Report(verdicts.error());
  const int printed =
      Print(ers::bench::RenderCheck(*verdicts, arguments.format));
  if (printed != 0) return printed;
  const bool passed =
      std::all_of(verdicts->begin(), verdicts->end(),
                  [](const auto& verdict) { return verdict.passed(); });
  return passed ? 0 : kExitMissed;
}

int Samples(Arguments& arguments) {
  arguments.samples.options.stopped = StopAsked;
  const auto rows = ers::bench::RunSamples(arguments.samples);
  return rows.has_value() ? Print(*rows) : Report(rows.error());
}

void AddCommon(CLI::App* command, Arguments* arguments) {
  ers::analysis::AddFormatOption(command, &arguments->format);
  command->add_option("--seed", arguments->seed,
                      "Of contents and of the order of turns (random)");
}

// What all that time an object have.
void AddObject(CLI::App* command, Arguments* arguments) {
  ers::bench::StoreOptions& store = arguments->store;
  command->add_option("--scheme", arguments->scheme, "Scheme to measure")
      ->capture_default_str();
  command->add_option("--size", store.bytes, "Bytes of each value")
      ->required()
      ->check(CLI::Range(std::size_t{1}, std::size_t{256} << 20));
  command->add_option("--memcached", store.memcached, "Program to start")
      ->capture_default_str();
  command->add_option("--reps", store.repetitions, "Counted repetitions")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--keys", arguments->keys,
                   "Keys that the repetitions go round")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  AddCommon(command, arguments);
}

void AddParity(CLI::App* app, Arguments* arguments) {
  CLI::App* command = app->add_subcommand(
      "parity",
      "Time adding parity (forward) and dropping it (backward), beside writing "
      "the object anew");
  command->add_option("--to", arguments->to, "Parity blocks afterwards")
      ->capture_default_str()
      ->check(CLI::Range(1, 253));
  AddObject(command, arguments);
}

void AddStore(CLI::App* app, Arguments* arguments) {
  ers::bench::StoreOptions& store = arguments->store;
  CLI::App* command = app->add_subcommand(
      "store", "Time put, get, update, forward and backward transitions");
  AddObject(command, arguments);
  command->add_option("--servers", store.servers,
                      "host:port,...; without it, memcached processes of its "
                      "own on this machine");
  std::vector<std::string> case_names;
  for (const Case c : ers::bench::kAllCases) {
    case_names.emplace_back(ers::bench::CaseName(c));
  }
  arguments->cases = case_names;
  command->add_option("--cases", arguments->cases, "What to time")
      ->delimiter(',')
      ->check(CLI::IsMember(case_names))
      ->option_text(fmt::format("{}", fmt::join(case_names, ",")));
  store.names = ers::bench::ContenderNames();
  command->add_option("--impls", store.names, "What takes part")
      ->delimiter(',')
      ->check(CLI::IsMember(store.names))
      ->option_text(fmt::format("{}", fmt::join(store.names, ",")));
  command
      ->add_option("--update-bytes", arguments->update_bytes,
                   "Bytes that an update overwrites")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 28));
}

void AddCode(CLI::App* app, Arguments* arguments) {
  ers::bench::CodeOptions& code = arguments->code;
  CLI::App* command = app->add_subcommand(
      "code", "Encoding speed of each kernel against raw ISA-L");
  command->add_option("--block-bytes", code.block_bytes, "Bytes of a block")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{64} << 20));
  command->add_option("--reps", code.repetitions, "Counted repetitions")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command->add_option("--k-min", code.k_min)
      ->capture_default_str()
      ->check(CLI::Range(2, 128));
  command->add_option("--k-max", code.k_max)
      ->capture_default_str()
      ->check(CLI::Range(2, 128));
  command->add_option("--m-min", code.m_min)
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_option("--m-max", code.m_max)
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  AddCommon(command, arguments);
}

void AddCodes(CLI::App* app, Arguments* arguments) {
  ers::bench::CodesOptions& codes = arguments->codes;
  CLI::App* command = app->add_subcommand(
      "codes",
      "Time of an object's parity by Reed-Solomon (ISA-L, Jerasure), Cauchy "
      "Reed-Solomon and Liberation codes");
  command->add_option("--k", codes.k, "Data blocks")->capture_default_str();
  command->add_option("--m", codes.m, "Parity blocks; Liberation has 2 alone")
      ->capture_default_str();
  command->add_option("--sizes", codes.object_bytes, "Bytes of objects")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{256} << 20));
  command->add_option("--reps", codes.repetitions, "Counted repetitions")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  AddCommon(command, arguments);
}

void AddCheck(CLI::App* app, Arguments* arguments) {
  CLI::App* command = app->add_subcommand(
      "check", "Hold the promised speeds; exit code 1 where one is missed");
  command
      ->add_option("--reps", arguments->check.repetitions,
                   "Counted repetitions, at least 30")
      ->capture_default_str()
      ->check(CLI::Range(30, 1000000));
  command
      ->add_option("--memcached", arguments->check.memcached,
                   "Program to start")
      ->capture_default_str();
  AddCommon(command, arguments);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times libers against memcached's own ways to hold a value.",
               "ers-bench");
  app.set_version_flag("--version", "ers-bench " ERS_VERSION);
  ers::cli::AddManual(app);
  ers::cli::AddCompletion(app);
  app.require_subcommand(1);
  Arguments arguments;
  AddStore(&app, &arguments);
  AddParity(&app, &arguments);
  AddCode(&app, &arguments);
  AddCodes(&app, &arguments);
  AddCheck(&app, &arguments);
  ers::bench::AddSamplesCommand(&app, &arguments.samples);
  const std::optional<int> ended = ers::cli::Parse(app, argc, argv);
  if (ended) return *ended;
  HandleSignals();
  if (app.got_subcommand("store")) return Store(arguments);
  if (app.got_subcommand("parity")) return Parity(arguments);
  if (app.got_subcommand("samples")) return Samples(arguments);
  if (app.got_subcommand("code")) return Code(arguments);
  if (app.got_subcommand("codes")) return Codes(arguments);
  return Check(arguments);
}
