// PendingChange: a change whose blocks are staged, until it is committed or
// given up.
#ifndef ERS_STORE_COMMIT_PENDING_CHANGE_H_
#define ERS_STORE_COMMIT_PENDING_CHANGE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "net/task.h"
#include "store/commit/change.h"
#include "store/commit/staged_blocks.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"
#include "store/replicas/commit_writes.h"
#include "store/replicas/committer.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// What one try is made of, in this order; GoOn is the loop around it. Loop
// thread only.
class PendingChange {
 public:
  // As CommitChange has them; `check` may be empty: it may replace anything.
  PendingChange(Session& session, ReplicaSet& replicas, Manifest next,
                ClientCas cas, std::optional<ReplicasRead> prepared,
                Check check);
  PendingChange(const PendingChange&) = delete;
  PendingChange& operator=(const PendingChange&) = delete;

  // What the replicas show is not known, or only of another view.
  [[nodiscard]] bool MustPrepare() const;
  void SetRead(ReplicasRead read);
  // In place of a read: a round trip less where there are no blocks to stage,
  // beside which the replicas are read.
  void UseKept();
  void ForgetRead() { read_.reset(); }

  // What was staged goes.
  ChangeOutcome Abort(Status why) { return AbortOf(next_, std::move(why)); }
  // The rivals of one key may come without end.
  ChangeOutcome GiveUp();
  // May it replace what is there? Its end where it may not.
  std::optional<ChangeOutcome> Judge();
  [[nodiscard]] bool as_stale() const { return as_stale_; }
  net::Task<Status> BecomeStale();
  net::Task<StagedCompletion> Complete();
  // Members lack blocks and did not take them. The end, where they stay in the
  // view; those that have left it are backfilled when they are back.
  net::Task<std::optional<ChangeOutcome>> OnIncomplete(
      StagedCompletion completion);
  // What was there has ended since it was read: that is for the check to know.
  [[nodiscard]] bool HasEnded() const;
  net::Task<CommitResult> Commit();
  // The same in parts, by what was kept: as Committer::Begin and End.
  std::unique_ptr<CommitWrites> BeginCommit(void (*call)(void* context),
                                            void* context);
  net::Task<CommitResult> EndCommit(CommitWrites& writes);
  // A refusal says no more than that another change came between.
  [[nodiscard]] bool by_kept() const { return by_kept_; }
  // Its end; empty where it is to be tried anew.
  std::optional<ChangeOutcome> Conclude(CommitResult result);

  // Of how many replicas it is known what they show.
  [[nodiscard]] std::size_t replicas_read() const {
    return read_ ? read_->copies.size() : 0;
  }

 private:
  NewToken Seal();
  ChangeOutcome AbortOf(const Manifest& abandoned, Status why);

  Session& session_;
  ReplicaSet& chain_;
  Manifest next_;
  const ClientCas cas_;
  const Check check_;
  const ChangeId staged_;  // the generation of what was staged; its age is the
                           // change's
  ChangeId id_;            // that it is to be committed with
  std::optional<ReplicasRead> read_;
  bool by_kept_ = false;  // that is what was kept
  // Of what was read: what would be replaced, and whether that is an object.
  std::shared_ptr<const Manifest> there_;
  bool alive_ = false;
  bool as_stale_ = false;
};

// Tries until it is committed or given up, in its turn. `tried`: a commit that
// has been tried already.
net::Task<ChangeOutcome> GoOn(PendingChange& change, ReplicaSet& replicas,
                              std::optional<CommitResult> tried = {});

}  // namespace ers::store

#endif  // ERS_STORE_COMMIT_PENDING_CHANGE_H_
