#include "store/commit/change.h"

#include <utility>

#include "store/commit/pending_change.h"

namespace ers::store {

using net::Task;

namespace {

Task<void> RunStage(Task<Status> stage, Status& status, net::Latch& latch) {
  status = co_await std::move(stage);
  latch.CountDown();
}

}  // namespace

Task<Staged> StageAndPrepare(Session& session, ReplicaSet& replicas,
                             Task<Status> stage) {
  Staged staged;
  net::Latch latch(session.runtime(), 1);
  net::Spawn(RunStage(std::move(stage), staged.status, latch));
  staged.prepared = co_await replicas.PrepareAhead();
  co_await latch;
  co_return staged;
}

Manifest TombstoneFor(std::string_view key, const ChangeId& id) {
  Manifest tombstone;
  tombstone.id = id;
  tombstone.tombstone = true;
  tombstone.key = key;
  return tombstone;
}

Check PlannedOn(const ChangeId& base) {
  return [base](const Manifest* living) -> Result<Verdict> {
    return living != nullptr && living->id == base ? Verdict::kGoOn
                                                   : Verdict::kRestart;
  };
}

Task<ChangeOutcome> CommitChange(Session& session, ReplicaSet& replicas,
                                 Manifest next, ClientCas cas,
                                 std::optional<ReplicasRead> prepared,
                                 Check check) {
  PendingChange change(session, replicas, std::move(next), cas,
                       std::move(prepared), std::move(check));
  KeyTurn& turn = replicas.turn();
  if (!turn.taken()) {
    Status taken = co_await turn.Take();
    if (!taken.ok()) co_return change.Abort(std::move(taken));
    // It is what it was before those that came first.
    if (turn.waited()) change.ForgetRead();
  }
  // Staging took as long as the value took to come.
  turn.RestartDeadline();
  change.UseKept();
  co_return co_await GoOn(change, replicas);
}

}  // namespace ers::store
