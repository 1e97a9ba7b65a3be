// What all changes share: the loop from prepare to commit, and what becomes of
// the blocks on either side of it.
#ifndef ERS_STORE_COMMIT_CHANGE_H_
#define ERS_STORE_COMMIT_CHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "net/task.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// What a change thinks of the manifest that it is about to replace.
enum class Verdict {
  kGoOn,
  kGoOnAsStale,  // and put only the value: as stale, with the expiry and the
                 // mark of a winner that are there
  kRestart,      // it was planned on another one
};

struct ChangeOutcome {
  // OK: committed, unless `restart` is set.
  Status status;
  bool restart = false;
  std::shared_ptr<const Manifest> committed;
  // With `restart`: what the replicas show, to plan it anew on.
  std::optional<ReplicasRead> met;
};

struct Staged {
  Status status;  // of the staging
  // What Prepare gave; empty where it failed (CommitChange tries again).
  std::optional<ReplicasRead> prepared;
};

// Runs `stage`, which stages the blocks of a change, and reads the replicas
// meanwhile: a round trip less. Whatever changes at a replica in between makes
// the commit fail there.
net::Task<Staged> StageAndPrepare(Session& session, ReplicaSet& replicas,
                                  net::Task<Status> stage);

// The end of an object; its CAS rises.
Manifest TombstoneFor(std::string_view key, const ChangeId& id);

// What the client CAS is to do.
enum class ClientCas {
  kRises,  // new content
  kStays,
  kGiven,  // as the manifest that is to be committed has it
};

// Commits `next` (with its id, its blocks staged), in its turn. Where it was
// flushed meanwhile it gets another id: it comes behind the flush. `check` sees
// the living manifest that would be replaced (null: none) before each try; its
// failure ends the change. `prepared` may hold what Prepare gave already.
// Blocks that did not make it, or were replaced, are dropped; after an unknown
// outcome all stay.
using Check = std::function<Result<Verdict>(const Manifest* living)>;
net::Task<ChangeOutcome> CommitChange(Session& session, ReplicaSet& replicas,
                                      Manifest next, ClientCas cas,
                                      std::optional<ReplicasRead> prepared,
                                      Check check);

// The check of a change that was planned on `base`: over another one, or none,
// it restarts.
Check PlannedOn(const ChangeId& base);

}  // namespace ers::store

#endif  // ERS_STORE_COMMIT_CHANGE_H_
