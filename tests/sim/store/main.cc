// store_sim: the store over model servers, seed after seed.
//
//   store_sim --seeds 1-1000          nothing may break
//   store_sim --seeds 1-1000 --rivals only runs that stress the commit
//   store_sim --seeds 1-10000 --kinds --complete --jobs 2
//                                     operations of all kinds, and all that may
//                                     come of them must have come
//   store_sim --seeds 1-500 --losses  more than f servers come back empty
//   store_sim --seeds 1-500 --packs   small values are packed all the time
//   store_sim --seeds 17 --trace      what happened in one run
//   store_sim --seeds 1-500 --bug B   planted bug B must be caught, by the
//                                     invariant that it breaks ("all": each)
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/store/seed_runs.h"
#include "sim/store/store_run.h"
#include "store/format/planted_bug.h"

namespace ers::sim {
namespace {

using store::PlantedBug;

// Seeds of one process.
constexpr std::uint64_t kChunk = 250;
// Of one that searches for a bug, which most show soon.
constexpr std::uint64_t kBugChunk = 25;

struct Planted {
  std::string_view name;
  PlantedBug bug;
  std::vector<Invariant> breaks;  // any of them must be seen broken
  Profile profile = Profile::kAny;
  bool rare = false;  // takes minutes to show: not one of "all"
  // A seed at which it showed when this was written: tried before the others,
  // which may take minutes.
  std::uint64_t shown_by = 0;
};

const std::vector<Planted>& AllPlanted() {
  using I = Invariant;
  static const std::vector<Planted> all = {
      {"no-barrier",
       PlantedBug::kNoBarrier,
       {I::kViewBarrier},
       Profile::kRivals,
       /*rare=*/false,
       /*shown_by=*/1621},
      {"ignore-epoch",
       PlantedBug::kIgnoreEpoch,
       {I::kViewBarrier},
       Profile::kRivals},
      {"believe-any",
       PlantedBug::kBelieveAny,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals},
      {"believe-hedge",
       PlantedBug::kBelieveHedge,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals},
      {"no-restamp",
       PlantedBug::kNoRestamp,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals},
      {"confirm-early",
       PlantedBug::kConfirmEarly,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals},
      {"commit-by-set",
       PlantedBug::kCommitBySet,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole}},
      {"keeps-any-token",
       PlantedBug::kKeepsAnyToken,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals,
       /*rare=*/true},
      {"skip-checksum",
       PlantedBug::kSkipChecksum,
       {I::kOneChangesBytes},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/60},
      {"ack-before-primary",
       PlantedBug::kAckBeforePrimary,
       {I::kNothingLost, I::kOneChain}},
      {"ack-by-primary",
       PlantedBug::kAckByPrimary,
       {I::kNothingLost, I::kOneChain},
       Profile::kRivals},
      {"drop-before-flip", PlantedBug::kDropBeforeFlip, {I::kBlocksOfManifest}},
      {"generation-twice",
       PlantedBug::kGenerationTwice,
       {I::kBlocksOfManifest}},
      {"old-m-only",
       PlantedBug::kOldMOnly,
       {I::kBlocksOfManifest, I::kFullRedundancy},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/90},
      {"drop-after-unknown",
       PlantedBug::kDropAfterUnknown,
       {I::kBlocksOfManifest},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/540},
      {"miss-by-primary-alone",
       PlantedBug::kMissByPrimaryAlone,
       {I::kNothingLost, I::kMissOnlyIfAbsent}},
      {"no-write-back",
       PlantedBug::kNoWriteBack,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole}},
      {"any-incarnation",
       PlantedBug::kAnyIncarnation,
       {I::kNothingLost, I::kOneChain, I::kDeletedStaysDeleted},
       Profile::kRivals,
       /*rare=*/true},
      {"metadump-all",
       PlantedBug::kMetadumpAll,
       {I::kNothingLost, I::kBlocksOfManifest, I::kFullRedundancy},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/73},
      {"export-old-value",
       PlantedBug::kExportOldValue,
       {I::kNothingLost, I::kOneChain},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/5},
      {"in-sync-at-once",
       PlantedBug::kInSyncAtOnce,
       {I::kNothingLost, I::kFullRedundancy},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/44},
      {"replaced-is-in-sync",
       PlantedBug::kReplacedIsInSync,
       {I::kNothingLost, I::kFullRedundancy},
       Profile::kKinds,
       /*rare=*/false,
       /*shown_by=*/38},
      {"backfill-manifests-only",
       PlantedBug::kBackfillManifestsOnly,
       {I::kNothingLost, I::kFullRedundancy},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/44},
      {"no-participants", PlantedBug::kNoParticipants, {I::kViewBarrier}},
      {"endless-lease",
       PlantedBug::kEndlessLease,
       {I::kViewBarrier},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/235},
      {"entry-not-waited",
       PlantedBug::kEntryNotWaited,
       {I::kViewBarrier},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/29},
      {"gone-with-lease",
       PlantedBug::kGoneWithLease,
       {I::kViewBarrier},
       Profile::kRivals,
       /*rare=*/false,
       /*shown_by=*/4117},
      {"registry-forgets-joiner",
       PlantedBug::kRegistryForgetsJoiner,
       {I::kViewBarrier},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/29},
      {"stamp-without-record",
       PlantedBug::kStampWithoutRecord,
       {I::kViewBarrier},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/56},
      {"long-lease-unsaid",
       PlantedBug::kLongLeaseUnsaid,
       {I::kViewBarrier},
       Profile::kRivals,
       /*rare=*/false,
       /*shown_by=*/6534},
      {"lease-too-long",
       PlantedBug::kLeaseTooLong,
       {I::kViewBarrier},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/235},
      {"gone-unasked",
       PlantedBug::kGoneUnasked,
       {I::kViewBarrier},
       Profile::kAny,
       /*rare=*/true},
      {"resumes-at-once",
       PlantedBug::kResumesAtOnce,
       {I::kViewBarrier},
       Profile::kGarbage,
       /*rare=*/true},
      {"same-incarnation",
       PlantedBug::kSameIncarnation,
       {I::kNothingLost, I::kOneChain, I::kDeletedStaysDeleted},
       Profile::kAny,
       /*rare=*/true},
      {"passes-over-view",
       PlantedBug::kPassesOverView,
       {I::kNothingLost, I::kOneChain, I::kDeletedStaysDeleted},
       Profile::kViews,
       /*rare=*/false,
       /*shown_by=*/3774},
      {"trusts-few-after-loss",
       PlantedBug::kTrustsFewAfterLoss,
       {I::kNothingLost, I::kOneChain, I::kDeletedStaysDeleted},
       Profile::kLosses,
       /*rare=*/false,
       /*shown_by=*/219},
      {"no-wait-after-loss",
       PlantedBug::kNoWaitAfterLoss,
       {I::kNothingLost, I::kOneChain, I::kViewBarrier},
       Profile::kLosses,
       /*rare=*/true},
      {"ends-unreadable",
       PlantedBug::kEndsUnreadable,
       {I::kNothingLost, I::kMissOnlyIfAbsent},
       Profile::kKinds,
       /*rare=*/false,
       /*shown_by=*/1844},
      {"gc-drops-young",
       PlantedBug::kDropsYoung,
       {I::kBlocksOfManifest},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/29},
      {"gc-no-fence",
       PlantedBug::kNoFence,
       {I::kBlocksOfManifest},
       Profile::kGarbage,
       /*rare=*/true},
      {"pack-dropped-named",
       PlantedBug::kPackDroppedNamed,
       {I::kBlocksOfManifest},
       Profile::kPacks},
      {"pack-dropped-young",
       PlantedBug::kPackDroppedYoung,
       {I::kBlocksOfManifest},
       Profile::kPacks,
       /*rare=*/false,
       /*shown_by=*/23},
      {"pack-takes-over",
       PlantedBug::kPackTakesOver,
       {I::kNothingLost, I::kOneChain, I::kDeletedStaysDeleted,
        I::kFailedLeavesWhole},
       Profile::kPacks},
      {"unpack-takes-over",
       PlantedBug::kUnpackTakesOver,
       {I::kNothingLost, I::kOneChain, I::kDeletedStaysDeleted,
        I::kFailedLeavesWhole},
       Profile::kPacks,
       /*rare=*/false,
       /*shown_by=*/74},
      {"pack-named-old",
       PlantedBug::kPackNamedOld,
       {I::kBlocksOfManifest},
       Profile::kPacks,
       /*rare=*/true},
      {"old-change-commits",
       PlantedBug::kOldChangeCommits,
       {I::kBlocksOfManifest},
       Profile::kAny,
       /*rare=*/false,
       /*shown_by=*/12},
      {"ends-unread",
       PlantedBug::kEndsUnread,
       {I::kNothingLost, I::kOneChain},
       Profile::kKinds,
       /*rare=*/true},
      {"gc-silent-lists-nothing",
       PlantedBug::kSilentListsNothing,
       {I::kBlocksOfManifest},
       Profile::kGarbage},
      {"forgets-last",
       PlantedBug::kForgetsLast,
       {I::kNothingLost, I::kOneChain, I::kFailedLeavesWhole},
       Profile::kRivals,
       /*rare=*/true},
      {"flush-by-clock",
       PlantedBug::kFlushByClock,
       {I::kNothingLost, I::kOneChain, I::kMissOnlyIfAbsent},
       Profile::kKinds,
       /*rare=*/false,
       /*shown_by=*/12},
  };
  return all;
}

bool ParseSeeds(const std::string& text, Seeds* seeds) {
  char* end = nullptr;
  seeds->first = std::strtoull(text.c_str(), &end, 10);
  seeds->last = seeds->first;
  if (*end == '-') seeds->last = std::strtoull(end + 1, &end, 10);
  return end != text.c_str() && *end == '\0' && seeds->last >= seeds->first;
}

std::string DescribeRun(std::uint64_t seed, const StoreRun& run) {
  std::string text = fmt::format("seed {}: {}\n", seed, Describe(run.scenario));
  for (const FaultWindow& fault : run.faults) {
    const auto micros = [](TimePoint time) {
      return std::chrono::duration_cast<std::chrono::microseconds>(
                 time.time_since_epoch())
          .count();
    };
    text += fmt::format("  {} at {} us{}\n", FaultName(fault.kind),
                        micros(fault.begin),
                        fault.end == TimePoint::max()
                            ? std::string()
                            : fmt::format(" until {} us", micros(fault.end)));
  }
  return text;
}

// One after the other. With `trace` prints what happens, at once.
SeedCounts RunSome(const Seeds& seeds, Profile profile, bool trace,
                   std::string* text) {
  SeedCounts counts;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const StoreRun run = RunStore(seed, profile, trace);
    counts.table.Add(run);
    ++counts.seeds;
    counts.operations += run.history.operations().size();
    counts.hash = (counts.hash ^ run.trace_hash) * 0x9E3779B97F4A7C15U;
    if (trace || !run.violations.empty()) *text += DescribeRun(seed, run);
    if (trace) {
      for (const Operation& operation : run.history.operations()) {
        *text += fmt::format("  {}\n", Describe(operation));
      }
    }
    for (const Violation& violation : run.violations) {
      *text += fmt::format("  {}\n", violation.text);
    }
    if (!run.violations.empty()) ++counts.failed;
  }
  return counts;
}

int RunAll(const Seeds& seeds, Profile profile, int jobs, bool trace,
           bool complete) {
  SeedCounts counts;
  if (trace) {
    std::string text;
    counts = RunSome(seeds, profile, trace, &text);
    fmt::print("{}", text);
  } else {
    counts = RunChunks(InChunks(seeds, kChunk), jobs,
                       [profile](const Seeds& some, std::string* text) {
                         return RunSome(some, profile, false, text);
                       });
  }
  counts.table.Print();
  const int empty = counts.table.Empty();
  fmt::print(
      "{} seeds, {} operations, {} seeds with violations, {} empty cells, "
      "trace {:016x}\n",
      counts.seeds, counts.operations, counts.failed, empty, counts.hash);
  return counts.failed == 0 && !(complete && empty > 0) ? 0 : 1;
}

// The first seed at which the bug shows as it should.
bool CatchHere(const Planted& planted, const Seeds& seeds, std::string* text) {
  store::planted_bug = planted.bug;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const StoreRun run = RunStore(seed, planted.profile, false);
    for (const Violation& violation : run.violations) {
      if (std::find(planted.breaks.begin(), planted.breaks.end(),
                    violation.invariant) == planted.breaks.end()) {
        continue;
      }
      *text +=
          fmt::format("{}: seed {}: {}\n", planted.name, seed, violation.text);
      return true;
    }
  }
  return false;
}

// Every chunk in a child of its own.
SeedCounts CatchIn(const Planted& planted, const std::vector<Seeds>& chunks,
                   int jobs) {
  return RunChunks(chunks, jobs,
                   [&planted](const Seeds& seeds, std::string* text) {
                     SeedCounts counts;
                     counts.seeds = CatchHere(planted, seeds, text) ? 1 : 0;
                     return counts;
                   });
}

// By the seed that is known to show it, then by all, `jobs` chunks at a time.
bool Catch(const Planted& planted, const Seeds& seeds, int jobs) {
  const std::vector<Seeds> chunks = InChunks(seeds, kBugChunk);
  const auto at_once = static_cast<std::size_t>(jobs);
  std::vector<std::vector<Seeds>> rounds;
  if (planted.shown_by >= seeds.first && planted.shown_by <= seeds.last) {
    rounds.push_back({{planted.shown_by, planted.shown_by}});
  }
  for (std::size_t at = 0; at < chunks.size(); at += at_once) {
    const auto first = chunks.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(at_once, chunks.size() - at);
    rounds.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
  }
  for (const std::vector<Seeds>& round : rounds) {
    const SeedCounts caught = CatchIn(planted, round, jobs);
    if (caught.failed > 0) return false;
    if (caught.seeds > 0) return true;
  }
  fmt::print("{}: NOT caught by seeds {} to {}\n", planted.name, seeds.first,
             seeds.last);
  return false;
}

// In the runs that show each bug best, or in those of `profile`.
int CatchBugs(const std::string& name, const Seeds& seeds,
              std::optional<Profile> profile, int jobs) {
  bool known = false;
  bool all_caught = true;
  for (Planted planted : AllPlanted()) {
    if (name != planted.name && (name != "all" || planted.rare)) continue;
    known = true;
    planted.profile = profile.value_or(planted.profile);
    all_caught = Catch(planted, seeds, jobs) && all_caught;
  }
  if (!known) fmt::print("there is no planted bug '{}'\n", name);
  return known && all_caught ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("The store over model servers, in virtual time");
  std::string seeds_text = "1-200";
  std::string bug;
  int jobs = 1;
  bool rivals = false;
  bool garbage = false;
  bool losses = false;
  bool kinds = false;
  bool views = false;
  bool packs = false;
  bool trace = false;
  bool complete = false;
  app.add_option("--seeds", seeds_text, "N or FIRST-LAST");
  app.add_option("--bug", bug, "a planted bug, or all");
  app.add_option("--jobs", jobs, "so many processes run seeds at once")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--rivals", rivals, "only runs that stress the commit");
  app.add_flag("--garbage", garbage,
               "only runs that collect garbage all the time");
  app.add_flag("--losses", losses,
               "only runs in which more than f servers come back empty");
  app.add_flag("--kinds", kinds,
               "only runs of at least 200 operations of all kinds by two "
               "processes with three clients and more")
      ->excludes("--rivals")
      ->excludes("--garbage");
  app.add_flag("--views", views,
               "only runs in which three processes change the view, and stand "
               "still in the midst of it");
  app.add_flag("--packs", packs,
               "as --kinds, and small values are packed all the time");
  app.add_flag("--complete", complete,
               "an empty cell in the table is a failure");
  app.add_flag("--trace", trace, "print every operation");
  CLI11_PARSE(app, argc, argv);
  Seeds seeds;
  if (!ParseSeeds(seeds_text, &seeds)) {
    fmt::print("--seeds {}: give N or FIRST-LAST\n", seeds_text);
    return 2;
  }
  std::optional<Profile> profile;
  if (rivals) profile = Profile::kRivals;
  if (garbage) profile = Profile::kGarbage;
  if (losses) profile = Profile::kLosses;
  if (kinds) profile = Profile::kKinds;
  if (views) profile = Profile::kViews;
  if (packs) profile = Profile::kPacks;
  if (!bug.empty()) return CatchBugs(bug, seeds, profile, jobs);
  return RunAll(seeds, profile.value_or(Profile::kAny), jobs, trace, complete);
}

}  // namespace
}  // namespace ers::sim

int main(int argc, char** argv) { return ers::sim::Main(argc, argv); }
