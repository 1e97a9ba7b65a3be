// Reconciler: makes the replicas of a key agree where they differ
// (docs/internals/commit.md#reconcile).
#ifndef ERS_STORE_REPLICAS_RECONCILER_H_
#define ERS_STORE_REPLICAS_RECONCILER_H_

#include <optional>

#include "net/task.h"
#include "store/replicas/key_turn.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"
#include "store/replicas/replica_reader.h"
#include "store/replicas/replica_writer.h"

namespace ers::store {

// Loop thread only.
class Reconciler {
 public:
  // What the replicas show, and whether they differed.
  struct Read {
    ShownManifest manifest;
    bool reconciled = false;
  };
  // The primary's item that reconciling has replaced last, and by what
  // change's.
  struct Replaced {
    Replaces item;
    ChangeId by;
  };

  Reconciler(const ReplicaKey& key, KeyTurn& turn, ReplicaReader& reader,
             ReplicaWriter& writer);

  // What they show once they agree, with tokens. `seen`: what was read of them
  // just now. A change that is under way is left to its maker, as long
  // as it moves: finished by others it would only take longer, and so would
  // theirs.
  net::Task<Result<ReplicasRead>> Reconcile(
      PlainItems plain, std::optional<ReplicasRead> seen = {});
  // Reads all replicas and reconciles them if they differ; leaves no stubs
  // where they all show nothing.
  net::Task<Result<Read>> ReadReconciled();
  // The same, with a new token for whatever is there, stubs where there is
  // nothing, and plain items as they are: what was sent under an older token,
  // by any process, does nothing from then on. Where a plain item is among
  // them, the others are not reconciled.
  net::Task<Result<ReplicasRead>> Fence();

  // One pass of writes: what every replica shows now. Empty where one of them
  // met a rival or a new view.
  net::Task<Result<std::optional<ShownManifest>>> WriteOnce(
      const ReplicasRead& read);
  // For want of memory: what the first replicas show of a change is taken back.
  void GoBack() { goes_back_ = true; }
  [[nodiscard]] const Replaced& replaced() const { return replaced_; }
  void ForgetReplaced() { replaced_ = {}; }

 private:
  [[nodiscard]] bool DecidedAt(const ReplicaCopy& primary,
                               const View& view) const;
  net::Task<Result<ReplicasRead>> ReadToFence();
  net::Task<CasResult> WriteBack(const View& view, const ReplicaCopy& replica);

  const ReplicaKey& key_;
  KeyTurn& turn_;
  ReplicaReader& reader_;
  ReplicaWriter& writer_;
  bool goes_back_ = false;
  Replaced replaced_;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_RECONCILER_H_
