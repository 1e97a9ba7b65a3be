// ReplicaReader: asks the replicas of a key what they hold.
#ifndef ERS_STORE_REPLICAS_REPLICA_READER_H_
#define ERS_STORE_REPLICAS_REPLICA_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "net/task.h"
#include "store/membership/send.h"
#include "store/replicas/key_turn.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"

namespace ers::store {

// How one copy is read.
struct PrimaryTerms {
  // Servers do not take it for an access.
  bool no_bump = false;
  // The request says afterwards what the server knows of accesses before it.
  bool report_access = false;
  // What has ended is shown, too: as long as the primary has its manifest, a
  // change that began before may give it a longer life.
  bool take_ended = false;
  // The primary's word is enough, committed or not.
  bool take_uncommitted = false;
};
inline constexpr PrimaryTerms kNoBump{.no_bump = true};
// Also what has ended, and for no client.
inline constexpr PrimaryTerms kAsItLies{
    .no_bump = true, .take_ended = true, .take_uncommitted = true};

// Reconciles nothing. Replicas that do not answer leave the view on the way.
// Loop thread only.
class ReplicaReader {
 public:
  ReplicaReader(const ReplicaKey& key, const KeyTurn& turn);

  // All replicas, in one round trip when all is well. With kReadReplicas they
  // are only read; with any other step their tokens hold, and there are stubs
  // where there is nothing (and memory for them).
  net::Task<Result<ReplicasRead>> Collect(SendStep step, PlainItems plain);

  // Is the change that this copy shows known to be committed?
  [[nodiscard]] bool IsCommitted(const ReplicaCopy& copy) const;
  // What a read goes by, of a manifest that is committed.
  [[nodiscard]] ShownManifest Shown(const ShownManifest& manifest,
                                    std::int64_t asked_us,
                                    const PrimaryTerms& terms) const;

 private:
  Status Interpret(const std::vector<net::Request>& requests,
                   const std::vector<int>& members, PlainItems plain,
                   ReplicasRead& read) const;

  const ReplicaKey& key_;
  const KeyTurn& turn_;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_READER_H_
