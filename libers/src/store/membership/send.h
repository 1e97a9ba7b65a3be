// Sending: every message of the store to a server has the name of the step that
// it belongs to, and goes through Send.
#ifndef ERS_STORE_MEMBERSHIP_SEND_H_
#define ERS_STORE_MEMBERSHIP_SEND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/request.h"
#include "net/runtime.h"
#include "net/server_link.h"

namespace ers::store {

// enumerator, name, what the message is for.
#define ERS_SEND_STEPS(X)                                                    \
  X(kReadPrimary, "read-primary", "the manifest that a read goes by")        \
  X(kReadReplicas, "read-replicas",                                          \
    "do the replicas agree, and is the key absent")                          \
  X(kReadBlock, "read-block", "a block")                                     \
  X(kReadPlain, "read-plain", "an item of plain clients")                    \
  X(kStage, "stage", "a new block, beside the old ones")                     \
  X(kExtend, "extend", "a longer life for a block")                          \
  X(kPrepare, "prepare", "a replica's manifest and token, for a change")     \
  X(kCommitReplica, "commit-replica",                                        \
    "the new manifest, for a replica that is not the primary")               \
  X(kCommitPrimary, "commit-primary", "the new manifest, for the primary")   \
  X(kRepeatCas, "repeat-cas", "a manifest write whose reply was lost")       \
  X(kReconcileRead, "reconcile-read",                                        \
    "a replica's manifest and token, to reconcile")                          \
  X(kReconcilePrimary, "reconcile-primary",                                  \
    "what the primary shows, under a new token")                             \
  X(kReconcileReplica, "reconcile-replica",                                  \
    "a replica gets what the primary shows")                                 \
  X(kFence, "fence", "a new token for what a replica shows")                 \
  X(kExportReplica, "export-replica", "the object ends, before the primary") \
  X(kExportPrimary, "export-primary", "the object ends: the commit point")   \
  X(kDropReplaced, "drop-replaced", "a block that a change replaced")        \
  X(kDropStaged, "drop-staged", "a block of a change that was given up")     \
  X(kDropGarbage, "drop-garbage", "a block of no object, a copy left alone") \
  X(kDropOutdated, "drop-outdated", "a block that was put back too late")    \
  X(kProbe, "probe", "is a block where it should be")                        \
  X(kRepair, "repair", "a block that was lost is put back")                  \
  X(kComplete, "complete", "a block that was never stored")                  \
  X(kListKeys, "list-keys", "the keys of a server")                          \
  X(kListName, "list-name", "the key behind a hashed name")                  \
  X(kReadView, "read-view", "the view that a server knows")                  \
  X(kPrepareView, "prepare-view", "that view and its token, to replace it")  \
  X(kWriteView, "write-view", "the new view")                                \
  X(kReadParticipants, "read-participants",                                  \
    "what processes share the cluster")                                      \
  X(kWriteParticipants, "write-participants", "a heartbeat")                 \
  X(kLeaveParticipants, "leave-participants", "the end of a process")        \
  X(kAskMark, "ask-mark", "the memory that a server has now")                \
  X(kAskBackfilling, "ask-backfilling",                                      \
    "does a server answer that is to be backfilled")                         \
  X(kProbeRound, "probe-round", "has a server come back")                    \
  X(kAskOthers, "ask-others", "is it only one server that is silent")        \
  X(kAskSpeed, "ask-speed", "is a server slower than another one")           \
  X(kServerStats, "server-stats", "what a server reports of itself")

enum class SendStep : std::uint8_t {
#define ERS_SEND_STEP(name, text, help) name,
  ERS_SEND_STEPS(ERS_SEND_STEP)
#undef ERS_SEND_STEP
};

inline constexpr std::array kSendStepNames = {
#define ERS_SEND_STEP(name, text, help) std::string_view(text),
    ERS_SEND_STEPS(ERS_SEND_STEP)
#undef ERS_SEND_STEP
};

constexpr std::string_view NameOf(SendStep step) {
  return kSendStepNames[static_cast<std::size_t>(step)];
}

// Submits `request` to `link`, as ServerLink::Submit says. Nothing else in the
// store or above it does. Loop thread only.
void Send(net::Runtime& runtime, SendStep step, net::ServerLink& link,
          net::Request& request);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_SEND_H_
