// ReplicaSet: the manifests of one key on its replicas, as one operation deals
// with them (docs/internals/commit.md).
#ifndef ERS_STORE_REPLICAS_REPLICA_SET_H_
#define ERS_STORE_REPLICAS_REPLICA_SET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "store/membership/known_changes.h"
#include "store/membership/session.h"
#include "store/replicas/committer.h"
#include "store/replicas/copy_read.h"
#include "store/replicas/exporter.h"
#include "store/replicas/key_turn.h"
#include "store/replicas/reconciler.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"
#include "store/replicas/replica_reader.h"
#include "store/replicas/replica_writer.h"
#include "store/support/step_timer.h"

namespace ers::store {

// What a change replaces, and whether it has a turn.
struct ChangeTerms {
  // Prepare also gives replicas that cannot be reconciled, because the
  // primary's copy is corrupted and none can stand in.
  bool replaces_corrupted = false;
  // Items that are none of this library's count for nothing there.
  bool replaces_plain = false;
  // See KeyTurn.
  bool out_of_turn = false;
  // It may be a pack's: no client changes those.
  bool of_pack = false;
};

// Loop thread only.
class ReplicaSet {
 public:
  // A view must be in force. `steps` outlives it; null: nothing is timed.
  ReplicaSet(Session& session, std::string_view key, StepTimer* steps = nullptr,
             const ChangeTerms& terms = {});
  ReplicaSet(const ReplicaSet&) = delete;
  ReplicaSet& operator=(const ReplicaSet&) = delete;

  [[nodiscard]] StepTimer* steps() const { return key_.steps; }
  [[nodiscard]] KeyTurn& turn() { return turn_; }
  [[nodiscard]] Reconciler& reconciler() { return reconciler_; }
  [[nodiscard]] Committer& committer() { return committer_; }
  [[nodiscard]] Exporter& exporter() { return exporter_; }
  // That was in force when this was made: before anything is staged.
  [[nodiscard]] std::uint64_t first_epoch() const { return first_epoch_; }

  // What a read goes by: one copy alone, where its change is known to be
  // committed. Else all replicas are read, and reconciled where they differ.
  // Dead replicas leave the view on the way.
  net::Task<Result<ShownManifest>> ReadPrimary(PrimaryTerms terms = {});
  // That copy, to be read beside others; pass it to FinishRead once it has
  // ended.
  [[nodiscard]] CopyRead BeginRead(const PrimaryTerms& terms) {
    return CopyRead(key_, reader_, plain_, terms);
  }
  net::Task<Result<ShownManifest>> FinishRead(CopyRead& read);

  // Reads all replicas with tokens, leaving stubs where there is nothing (and
  // memory for them), and reconciles them if they differ. One round trip when
  // all is well. This is the end of a change's prepare.
  net::Task<Result<ReplicasRead>> Prepare();
  // The same ahead of time, beside the staging: empty where they differ, as a
  // rival is in the midst of a change, which is to come to its own end.
  net::Task<std::optional<ReplicasRead>> PrepareAhead();
  // Stand in for what Prepare gives: what this process's last change of the key
  // has left there. Only for a change that would replace plain items, too: one
  // that was put there since is not seen before the change is at others.
  [[nodiscard]] bool may_use_kept() const {
    return plain_ == PlainItems::kTaken;
  }
  // See ChangeTerms::of_pack.
  [[nodiscard]] bool may_change_packs() const { return of_pack_; }
  std::optional<ReplicasRead> TakeKept();
  void Keep(std::shared_ptr<const Manifest> committed, std::uint64_t epoch,
            std::vector<KeptTokens::Token> tokens);
  // Prepare gave replicas that ChangeTerms::replaces_corrupted is for.
  [[nodiscard]] bool found_corrupted() const { return found_corrupted_; }

  // Is this manifest a living object then (Unix microseconds): not a tombstone,
  // expired or flushed? Of what was read, the time at which it was asked for
  // decides: what ends while the answer is under way may have got a longer life
  // before it ended, which the answer is too old to show.
  [[nodiscard]] bool Alive(const Manifest& manifest, std::int64_t at_us) const;

 private:
  net::Task<Result<ShownManifest>> AskAgain(CopyRead& read);
  net::Task<Result<ShownManifest>> AskAllReplicas(PrimaryTerms terms);
  void NoteAgreed(const ReplicasRead& read, const PrimaryTerms& terms);

  const ReplicaKey key_;
  const bool replaces_corrupted_;
  const bool of_pack_;
  const PlainItems plain_;
  const std::uint64_t first_epoch_;
  KeyTurn turn_;
  ReplicaReader reader_;
  ReplicaWriter writer_;
  Reconciler reconciler_;
  Committer committer_;
  Exporter exporter_;
  bool found_corrupted_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_SET_H_
