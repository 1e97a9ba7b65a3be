// Reconciler: makes the replicas of a key agree where they differ
// (docs/internals/commit.md#reconcile).
#ifndef ERS_STORE_REPLICAS_RECONCILER_H_
#define ERS_STORE_REPLICAS_RECONCILER_H_

#include <cstdint>
#include <optional>
#include <vector>

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
  // For a read, where a replica has no memory to be reconciled: what is known
  // to be committed all the same. Fails with `why` where nothing is.
  net::Task<Result<ShownManifest>> ReadWithoutRoom(PlainItems plain,
                                                   Status why);
  // What the replicas show once they agree, with a new token for whatever is
  // there, stubs where there is nothing, and plain items as they are: what was
  // sent under an older token, by any process, does nothing from then on. Where
  // a plain item is among them, the others are not reconciled.
  net::Task<Result<ReplicasRead>> Fence();

  // One pass of writes: what the primary shows goes everywhere, to the primary
  // itself first. Empty where one of them met a rival or a new view.
  net::Task<Result<std::optional<ShownManifest>>> WriteOnce(
      const ReplicasRead& read);

  // A change that was made over `base` at the primary is about to be resolved.
  // `refused`: the copies, as it read them, that its own writes have not
  // replaced and never will.
  void BeginResolve(const ChangeId& change, const ReplicaCopy& base,
                    std::vector<ReplicaCopy> refused);
  // The primary never had it, as `base` was replaced by something else, or has
  // it no more, as it was taken back. For as long as that is the primary.
  [[nodiscard]] bool is_ruled_out() const { return ruled_out_; }

 private:
  net::Task<Result<ReplicasRead>> ReadToFence();
  net::Task<CasResult> WriteBack(const View& view, const ReplicaCopy& replica);
  net::Task<CasResult> Renew(const View& view, const ReplicaCopy& replica);
  net::Task<Result<bool>> Replaced(const ReplicaCopy& replica,
                                   const CasResult& result);
  net::Task<Result<bool>> TakeBack(PlainItems plain);
  [[nodiscard]] const ReplicaCopy* WitnessOf(const ReplicasRead& read) const;
  void NotePrimary(const ReplicasRead& read, const ChangeId& by);

  const ReplicaKey& key_;
  KeyTurn& turn_;
  ReplicaReader& reader_;
  ReplicaWriter& writer_;
  // Of the change that is being resolved.
  ChangeId resolved_;
  std::optional<ReplicaCopy> base_;  // the primary's, that it was made over
  std::vector<ReplicaCopy> refused_;
  bool ruled_out_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_RECONCILER_H_
