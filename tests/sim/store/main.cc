// store_sim: the store over model servers, seed after seed.
//
//   store_sim --seeds 1-1000          nothing may break
//   store_sim --seeds 1-1000 --rivals only runs that stress the commit
//   store_sim --seeds 17 --trace      what happened in one run
//   store_sim --seeds 1-500 --bug B   planted bug B must be caught, by the
//                                     invariant that it breaks ("all": each)
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "sim/store/outcome_table.h"
#include "sim/store/store_run.h"
#include "store/planted_bug.h"

namespace ers::sim {
namespace {

using store::PlantedBug;

struct Planted {
  std::string_view name;
  PlantedBug bug;
  std::vector<Invariant> breaks;  // any of them must be seen broken
  Profile profile = Profile::kAny;
  bool rare = false;  // takes minutes to show: not one of "all"
};

const std::vector<Planted>& AllPlanted() {
  using I = Invariant;
  static const std::vector<Planted> all = {
      {"no-barrier",
       PlantedBug::kNoBarrier,
       {I::kViewBarrier},
       Profile::kRivals},
      {"ignore-epoch", PlantedBug::kIgnoreEpoch, {I::kViewBarrier}},
      {"settle-skips-equal",
       PlantedBug::kSettleSkipsEqual,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals},
      {"settle-first-to-last",
       PlantedBug::kSettleFirstToLast,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals},
      {"commit-by-set",
       PlantedBug::kCommitBySet,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole}},
      {"skip-checksum", PlantedBug::kSkipChecksum, {I::kOneChangesBytes}},
      {"ack-before-judge",
       PlantedBug::kAckBeforeJudge,
       {I::kNothingLost, I::kOneChain}},
      {"drop-before-flip", PlantedBug::kDropBeforeFlip, {I::kBlocksOfManifest}},
      {"generation-twice",
       PlantedBug::kGenerationTwice,
       {I::kBlocksOfManifest}},
      {"drop-after-unknown",
       PlantedBug::kDropAfterUnknown,
       {I::kBlocksOfManifest}},
      {"miss-by-judge-alone",
       PlantedBug::kMissByJudgeAlone,
       {I::kNothingLost, I::kMissOnlyIfAbsent}},
      {"export-old-value",
       PlantedBug::kExportOldValue,
       {I::kNothingLost, I::kOneChain}},
      {"full-at-once", PlantedBug::kFullAtOnce, {I::kNothingLost}},
      {"fill-manifests-only",
       PlantedBug::kFillManifestsOnly,
       {I::kNothingLost}},
      {"same-incarnation",
       PlantedBug::kSameIncarnation,
       {I::kNothingLost, I::kOneChain, I::kDeletedStaysDeleted},
       Profile::kAny,
       /*rare=*/true},
  };
  return all;
}

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

bool ParseSeeds(const std::string& text, Seeds* seeds) {
  char* end = nullptr;
  seeds->first = std::strtoull(text.c_str(), &end, 10);
  seeds->last = seeds->first;
  if (*end == '-') seeds->last = std::strtoull(end + 1, &end, 10);
  return end != text.c_str() && *end == '\0' && seeds->last >= seeds->first;
}

void PrintRun(std::uint64_t seed, const StoreRun& run) {
  fmt::print("seed {}: {}\n", seed, Describe(run.scenario));
  for (const FaultWindow& fault : run.faults) {
    const auto micros = [](TimePoint time) {
      return std::chrono::duration_cast<std::chrono::microseconds>(
                 time.time_since_epoch())
          .count();
    };
    fmt::print("  {} at {} us{}\n", FaultName(fault.kind), micros(fault.begin),
               fault.end == TimePoint::max()
                   ? std::string()
                   : fmt::format(" until {} us", micros(fault.end)));
  }
}

void PrintViolations(const StoreRun& run) {
  for (const Violation& violation : run.violations) {
    fmt::print("  {}\n", violation.text);
  }
}

int RunAll(const Seeds& seeds, Profile profile, bool trace) {
  OutcomeTable table;
  std::uint64_t failed = 0;
  std::uint64_t operations = 0;
  std::uint64_t hash = 0;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const StoreRun run = RunStore(seed, profile, trace);
    table.Add(run);
    operations += run.history.operations().size();
    hash = (hash ^ run.trace_hash) * 0x9E3779B97F4A7C15U;
    if (trace) {
      PrintRun(seed, run);
      for (const Operation& operation : run.history.operations()) {
        fmt::print("  {}\n", Describe(operation));
      }
    }
    if (run.violations.empty()) continue;
    ++failed;
    if (!trace) PrintRun(seed, run);
    PrintViolations(run);
  }
  table.Print();
  fmt::print(
      "{} seeds, {} operations, {} seeds with violations, trace {:016x}\n",
      seeds.last - seeds.first + 1, operations, failed, hash);
  return failed == 0 ? 0 : 1;
}

// The first seed at which the bug shows as it should.
bool CatchHere(const Planted& planted, const Seeds& seeds) {
  store::planted_bug = planted.bug;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const StoreRun run = RunStore(seed, planted.profile, false);
    for (const Violation& violation : run.violations) {
      if (std::find(planted.breaks.begin(), planted.breaks.end(),
                    violation.invariant) == planted.breaks.end()) {
        continue;
      }
      fmt::print("{}: seed {}: {}\n", planted.name, seed, violation.text);
      return true;
    }
  }
  return false;
}

// A child for every so many seeds: what runs have parked goes with it.
bool Catch(const Planted& planted, const Seeds& seeds) {
  constexpr std::uint64_t kAtOnce = 2000;
  for (std::uint64_t first = seeds.first; first <= seeds.last;
       first += kAtOnce) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const Seeds some{first, std::min(first + kAtOnce - 1, seeds.last)};
      const bool caught = CatchHere(planted, some);
      std::fflush(stdout);
      _exit(caught ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child ||
        !WIFEXITED(status)) {
      fmt::print("{}: the run from seed {} on crashed\n", planted.name, first);
      return false;
    }
    if (WEXITSTATUS(status) == 0) return true;
  }
  fmt::print("{}: NOT caught by seeds {} to {}\n", planted.name, seeds.first,
             seeds.last);
  return false;
}

int CatchBugs(const std::string& name, const Seeds& seeds) {
  bool known = false;
  bool all_caught = true;
  for (const Planted& planted : AllPlanted()) {
    if (name != planted.name && (name != "all" || planted.rare)) continue;
    known = true;
    all_caught = Catch(planted, seeds) && all_caught;
  }
  if (!known) fmt::print("there is no planted bug '{}'\n", name);
  return known && all_caught ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("The store over model servers, in virtual time");
  std::string seeds_text = "1-200";
  std::string bug;
  bool rivals = false;
  bool trace = false;
  app.add_option("--seeds", seeds_text, "N or FIRST-LAST");
  app.add_option("--bug", bug, "a planted bug, or all");
  app.add_flag("--rivals", rivals, "only runs that stress the commit");
  app.add_flag("--trace", trace, "print every operation");
  CLI11_PARSE(app, argc, argv);
  Seeds seeds;
  if (!ParseSeeds(seeds_text, &seeds)) {
    fmt::print("--seeds {}: give N or FIRST-LAST\n", seeds_text);
    return 2;
  }
  const Profile profile = rivals ? Profile::kRivals : Profile::kAny;
  return bug.empty() ? RunAll(seeds, profile, trace) : CatchBugs(bug, seeds);
}

}  // namespace
}  // namespace ers::sim

int main(int argc, char** argv) { return ers::sim::Main(argc, argv); }
