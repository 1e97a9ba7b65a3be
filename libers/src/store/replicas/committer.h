// Committer: the commit that every change ends in, and what became of one that
// stopped half way (docs/internals/commit.md).
#ifndef ERS_STORE_REPLICAS_COMMITTER_H_
#define ERS_STORE_REPLICAS_COMMITTER_H_

#include <memory>
#include <string>
#include <vector>

#include "net/task.h"
#include "store/membership/known_changes.h"
#include "store/replicas/commit_writes.h"
#include "store/replicas/key_turn.h"
#include "store/replicas/reconciler.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"
#include "store/replicas/replica_writer.h"

namespace ers::store {

// What is known of a commit that did not go straight through.
enum class CommitFate {
  kCommitted,
  kNotHappened,  // and never will: blocks may be dropped, the change tried anew
  kUnknown,      // old or new, whole; staged blocks are left to garbage
                 // collection
};

struct CommitResult {
  CommitFate fate = CommitFate::kUnknown;
  Status status;  // why, unless committed; kOk: try anew
  // Why anew: the view changed or a server was silent; else a rival was first.
  bool by_view = false;
  // kCommitted, and asked for, and known: the tokens that it has now.
  std::vector<KeptTokens::Token> tokens = {};
};

// Loop thread only.
class Committer {
 public:
  // `plain`: what plain items count for where a commit is resolved.
  Committer(const ReplicaKey& key, KeyTurn& turn, ReplicaWriter& writer,
            Reconciler& reconciler, PlainItems plain);

  // Writes `next` to all replicas at once; those with a plain item follow the
  // others. `next`, which is not confirmed, is of the key and needs no copy
  // fields; its history is that of `base`, which Prepare gave. No two calls may
  // have the same id.
  net::Task<CommitResult> Commit(const ReplicasRead& base, const Manifest& next,
                                 NewToken token = NewToken::kForgotten);
  // The same in parts, where no replica has a plain item: what Begin gives goes
  // to End once it has ended, and calls `call` then. A lease is held. Null:
  // nothing was sent.
  std::unique_ptr<CommitWrites> Begin(const ReplicasRead& base,
                                      const Manifest& next, NewToken token,
                                      void (*call)(void* context),
                                      void* context);
  net::Task<CommitResult> End(const ReplicasRead& base, const Manifest& next,
                              CommitWrites& writes);

 private:
  [[nodiscard]] Status NoRoomAt(const ReplicaCopy& replica,
                                net::Outcome outcome,
                                const std::string& error) const;
  [[nodiscard]] CommitResult Unknown(const std::string& why) const;
  net::Task<CommitResult> EndRest(const ReplicasRead& base,
                                  const Manifest& next, CommitWrites& writes);
  net::Task<CommitResult> Refused(const ReplicasRead& base,
                                  const std::vector<CasResult>& results);
  // `results`: of each of the copies in `base`.
  net::Task<CommitResult> Resolve(const ReplicasRead& base,
                                  const Manifest& next,
                                  const std::vector<CasResult>& results);
  net::Task<Result<ReplicasRead>> ReconcileAfter(
      const ReplicasRead& base, const std::vector<CasResult>& results);
  [[nodiscard]] CommitResult FateOf(const ReplicasRead& base,
                                    const Manifest& next,
                                    const CasResult& at_primary,
                                    const ReplicasRead& now) const;

  const ReplicaKey& key_;
  KeyTurn& turn_;
  ReplicaWriter& writer_;
  Reconciler& reconciler_;
  const PlainItems plain_;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_COMMITTER_H_
