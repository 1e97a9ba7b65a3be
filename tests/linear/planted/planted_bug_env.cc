// Plants the bug that ERS_PLANTED_BUG names as soon as the process is there.
// Only the ersproxy of the tests in this folder has it.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

struct Named {
  std::string_view name;
  PlantedBug bug;
};

// All of them, as store_sim calls them.
constexpr Named kBugs[] = {
    {"no-barrier", PlantedBug::kNoBarrier},
    {"ignore-epoch", PlantedBug::kIgnoreEpoch},
    {"believe-any", PlantedBug::kBelieveAny},
    {"no-restamp", PlantedBug::kNoRestamp},
    {"confirm-early", PlantedBug::kConfirmEarly},
    {"commit-by-set", PlantedBug::kCommitBySet},
    {"skip-checksum", PlantedBug::kSkipChecksum},
    {"ack-before-primary", PlantedBug::kAckBeforePrimary},
    {"ack-by-primary", PlantedBug::kAckByPrimary},
    {"drop-before-flip", PlantedBug::kDropBeforeFlip},
    {"old-m-only", PlantedBug::kOldMOnly},
    {"generation-twice", PlantedBug::kGenerationTwice},
    {"drop-after-unknown", PlantedBug::kDropAfterUnknown},
    {"miss-by-primary-alone", PlantedBug::kMissByPrimaryAlone},
    {"no-write-back", PlantedBug::kNoWriteBack},
    {"any-incarnation", PlantedBug::kAnyIncarnation},
    {"metadump-all", PlantedBug::kMetadumpAll},
    {"export-old-value", PlantedBug::kExportOldValue},
    {"in-sync-at-once", PlantedBug::kInSyncAtOnce},
    {"backfill-manifests-only", PlantedBug::kBackfillManifestsOnly},
    {"same-incarnation", PlantedBug::kSameIncarnation},
    {"no-participants", PlantedBug::kNoParticipants},
    {"endless-lease", PlantedBug::kEndlessLease},
    {"entry-not-waited", PlantedBug::kEntryNotWaited},
    {"gone-with-lease", PlantedBug::kGoneWithLease},
    {"registry-forgets-joiner", PlantedBug::kRegistryForgetsJoiner},
    {"stamp-without-record", PlantedBug::kStampWithoutRecord},
    {"long-lease-unsaid", PlantedBug::kLongLeaseUnsaid},
    {"lease-too-long", PlantedBug::kLeaseTooLong},
    {"gone-unasked", PlantedBug::kGoneUnasked},
    {"resumes-at-once", PlantedBug::kResumesAtOnce},
    {"gc-drops-young", PlantedBug::kDropsYoung},
    {"gc-no-fence", PlantedBug::kNoFence},
    {"old-change-commits", PlantedBug::kOldChangeCommits},
    {"ends-unreadable", PlantedBug::kEndsUnreadable},
    {"gc-silent-lists-nothing", PlantedBug::kSilentListsNothing},
    {"forgets-last", PlantedBug::kForgetsLast},
    {"flush-by-clock", PlantedBug::kFlushByClock},
    {"ends-unread", PlantedBug::kEndsUnread},
};

PlantedBug FromEnvironment() {
  const char* name = std::getenv("ERS_PLANTED_BUG");
  if (name == nullptr) return PlantedBug::kNone;
  for (const Named& each : kBugs) {
    if (each.name == name) return each.bug;
  }
  std::fprintf(stderr, "ERS_PLANTED_BUG: there is no bug '%s'\n", name);
  std::_Exit(2);
}

// Before main, and so before there are threads.
[[maybe_unused]] const bool planted =
    (planted_bug = FromEnvironment()) != PlantedBug::kNone;

}  // namespace
}  // namespace ers::store
