// Planted bugs: what tests/sim breaks on purpose, to prove that its checks see
// it, and what it listens to. Only what tests/sim runs, and builds with
// sanitizers, have ERS_PLANTED_BUGS; elsewhere Planted() is a constant false.
#ifndef ERS_STORE_FORMAT_PLANTED_BUG_H_
#define ERS_STORE_FORMAT_PLANTED_BUG_H_

#include <cstdint>
#include <string_view>

#include "store/format/change_id.h"

namespace ers::store {

enum class PlantedBug {
  kNone,
  kNoBarrier,    // a view change waits for no manifest write
  kIgnoreEpoch,  // manifest writes are admitted under any view
  kNoRestamp,    // reconciling writes the others with the primary's token as it
                 // was
  kBelieveAny,   // a read believes a copy that is not known to be committed
  kBelieveHedge,        // so does one whose primary is late
  kConfirmEarly,        // copies are confirmed though another replica refused
  kAckByPrimary,        // a change is acknowledged once the primary has it
  kAckBeforePrimary,    // one that the primary does not get is acknowledged
  kCommitBySet,         // manifests are written without a token
  kKeepsAnyToken,       // a token is kept of whatever is there by now
  kSkipChecksum,        // any bytes of the right size pass for a block
  kDropBeforeFlip,      // replaced blocks go before the manifest changes
  kOldMOnly,            // to another width, more parity is named and not made
  kGenerationTwice,     // a change stages under its predecessor's generation
  kDropAfterUnknown,    // staged blocks go though the change may have happened
  kMissByPrimaryAlone,  // no manifest at the primary is taken for a miss
  kNoWriteBack,  // a read returns what one replica shows and reconciles nothing
  kAnyIncarnation,  // manifests of a member's former memory count
  kMetadumpAll,     // keys are listed by "all", which may miss some
  kExportOldValue,  // an export writes what it read, whatever is there now
  kInSyncAtOnce,  // a member that is back counts as in sync without backfilling
  kReplacedIsInSync,       // so does a new server in the place of another
  kBackfillManifestsOnly,  // backfilling puts no block back
  kSameIncarnation,        // a member comes back with what it held before
  kPassesOverView,  // a view is built upon one of the records in its way alone
  kNoParticipants,  // a view change waits for no other process
  kEndlessLease,    // a process goes on under its view after any pause
  kEntryNotWaited,  // a process counts as gone once its entry stands still
  kGoneWithLease,   // ... once its lease is over: no time for what it has sent
  kRegistryForgetsJoiner,  // a process that comes is not listed where others
                           // are
  kStampWithoutRecord,     // a record's stamp is noted, and the record not read
  kLongLeaseUnsaid,        // a long lease begins though no entry says so
  kLeaseTooLong,           // a lease that others do not wait for
  kGoneUnasked,            // one counts as gone whatever members say nothing
  kResumesAtOnce,          // a lease begins again by the first half alone
  kDropsYoung,             // collected are also blocks of changes under way
  kNoFence,                // garbage goes though a write may land that names it
  kOldChangeCommits,    // a change commits whose blocks may have been collected
  kTrustsFewAfterLoss,  // what few have kept counts though a later view is lost
  kNoWaitAfterLoss,     // others' leases may outlive the loss of their lines
  kEndsUnreadable,      // what cannot be read for now is ended as lost
  kEndsUnread,          // a copy is deleted, whatever is there by now
  kSilentListsNothing,  // a key that no server listed is taken for none's
  kForgetsLast,         // a manifest forgets the change before the last one
  kPackDroppedNamed,    // a pack is dropped though a manifest names it
  kPackDroppedYoung,    // ... though a change under way may name it
  kPackTakesOver,       // packing gives way to no change that came before
  kUnpackTakesOver,     // ... nor does making what is packed whole again
  kPackNamedOld,        // a pack is named however old it is by then
  kFlushByClock,        // a flush takes what is of before its maker's time
};

#if defined(ERS_PLANTED_BUGS)

// Called just before a manifest write is sent.
class StoreWatch {
 public:
  virtual ~StoreWatch() = default;
  virtual void OnManifestWrite(std::uint64_t epoch, int member,
                               std::string_view item_key, std::uint64_t token,
                               const ChangeId& id) = 0;
};

// One thread.
extern PlantedBug planted_bug;
extern StoreWatch* store_watch;
// No bug, but more rivals: changes of one process do not wait for each other,
// and none gives way. Nothing but their number may depend on that.
extern bool impatient;
// No bug, either: reads ask any replica in sync, not the primary first.
extern bool asks_any;

inline bool Planted(PlantedBug bug) { return planted_bug == bug; }
inline bool Impatient() { return impatient; }
inline bool AsksAny() { return asks_any; }
inline void ReportManifestWrite(std::uint64_t epoch, int member,
                                std::string_view item_key, std::uint64_t token,
                                const ChangeId& id) {
  if (store_watch == nullptr) return;
  store_watch->OnManifestWrite(epoch, member, item_key, token, id);
}

#else

constexpr bool Planted(PlantedBug) { return false; }
constexpr bool Impatient() { return false; }
constexpr bool AsksAny() { return false; }
inline void ReportManifestWrite(std::uint64_t, int, std::string_view,
                                std::uint64_t, const ChangeId&) {}

#endif

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_PLANTED_BUG_H_
