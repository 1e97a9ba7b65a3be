#include "store/commit/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/blocks/dropping.h"
#include "store/blocks/extend.h"
#include "store/commit/staged_blocks.h"
#include "store/format/change_age.h"
#include "store/format/expiry.h"
#include "store/format/object_map.h"
#include "store/format/planted_bug.h"
#include "store/membership/known_changes.h"
#include "store/membership/view_changer.h"
#include "store/replicas/lineage.h"

namespace ers::store {

using net::Task;

namespace {

// Rises with every change of content, also when the maker's clock is behind,
// and over a delete. By the time of the commit: another change of the key that
// began at the same time may have been there, and be forgotten since.
std::uint64_t NextCas(std::int64_t now_us, const Manifest* there) {
  return std::max(static_cast<std::uint64_t>(now_us),
                  there == nullptr ? 0 : there->cas + 1);
}

// Its blocks may be garbage to others by now (store/garbage.h). To be asked
// once the tokens are known that it commits with: those are as old, and the
// collection of the blocks renews them.
bool IsTooOld(Session& session, const ChangeId& id) {
  using std::chrono::microseconds;
  const microseconds now(session.WallMicros());
  return now - microseconds(id.time_us) > ChangeTimeout() &&
         !Planted(PlantedBug::kOldChangeCommits);
}

Status TooOld() {
  const std::chrono::duration<double> most = ChangeTimeout();
  return {
      StatusCode::kUnavailable,
      fmt::format("the change took over {:g} s and was given up; the object "
                  "is as it was: try again, with a faster source",
                  most.count())};
}

// Committed, it would be absent at once, and what it replaces be gone: that may
// have been put behind the flush.
bool IsFlushed(Session& session, const View& view, const ChangeId& id) {
  return view.IsFlushed(id, session.WallMicros());
}

// The value of `next` alone: the rest is as with what it takes the place of.
Task<Status> TakePlaceOf(Session& session, const Manifest& there,
                         Manifest& next, StepTimer* steps) {
  next.stale = true;
  next.won = there.won;
  const std::int64_t staged_for = std::exchange(next.expiry, there.expiry);
  if (next.is_inline || !LivesLonger(next.expiry, staged_for)) {
    co_return Status();
  }
  next.outlived = true;
  const ObjectMap map(std::make_shared<const Manifest>(next));
  co_return co_await ExtendObject(session, map, steps);
}

// A change whose blocks are staged, until it is committed or given up.
class Change {
 public:
  Change(Session& session, ReplicaSet& replicas, Manifest next, ClientCas cas,
         std::optional<ReplicasRead> prepared, Check check)
      : session_(session),
        chain_(replicas),
        next_(std::move(next)),
        cas_(cas),
        check_(std::move(check)),
        staged_(next_.id),
        id_(staged_),
        read_(std::move(prepared)) {}

  // What the replicas show is not known, or only of another view.
  [[nodiscard]] bool MustPrepare() const {
    return !read_ || read_->view->epoch != session_.view()->epoch;
  }
  void SetRead(ReplicasRead read) {
    read_ = std::move(read);
    by_kept_ = false;
  }
  // In place of a read: a round trip less where there are no blocks to stage,
  // beside which the replicas are read.
  void UseKept() {
    if (!next_.is_inline || !MustPrepare()) return;
    read_ = chain_.TakeKept();
    by_kept_ = read_.has_value();
  }
  void ForgetRead() { read_.reset(); }

  // What was staged goes.
  ChangeOutcome Abort(Status why) { return AbortOf(next_, std::move(why)); }
  // The rivals of one key may come without end.
  ChangeOutcome GiveUp() {
    DropStaged(session_, next_);
    return {chain_.turn().ChangedWithoutEnd(), false, nullptr, {}};
  }
  // May it replace what is there? Its end where it may not.
  std::optional<ChangeOutcome> Judge() {
    there_ = read_->primary().manifest;
    alive_ = there_ && chain_.Alive(*there_, read_->asked_us);
    const Result<Verdict> verdict = check_(alive_ ? there_.get() : nullptr);
    StoreCounters& counters = session_.counters();
    if (!verdict) {
      counters.aborts_by_check.Add();
      DropStaged(session_, next_);
      return ChangeOutcome{verdict.error(), false, nullptr, {}};
    }
    if (*verdict == Verdict::kRestart) {
      counters.aborts_by_restart.Add();
      DropStaged(session_, next_);
      return ChangeOutcome{Status(), true, nullptr, std::move(read_)};
    }
    if (IsFlushed(session_, *read_->view, id_)) id_ = session_.NewChangeId();
    if (IsTooOld(session_, staged_)) return Abort(TooOld());
    as_stale_ = *verdict == Verdict::kGoOnAsStale;
    return std::nullopt;
  }
  [[nodiscard]] bool as_stale() const { return as_stale_; }
  Task<Status> BecomeStale() {
    return TakePlaceOf(session_, *there_, next_, chain_.steps());
  }
  Task<StagedCompletion> Complete() {
    if (next_.is_inline) return Task<StagedCompletion>::Ready();
    return CompleteStaged(session_, *read_->view, chain_.first_epoch(),
                          there_.get(), next_, chain_.steps());
  }
  // Members lack blocks and did not take them. The end, where they stay in the
  // view; those that have left it are backfilled when they are back.
  Task<std::optional<ChangeOutcome>> OnIncomplete(StagedCompletion completion) {
    const std::uint64_t epoch = read_->view->epoch;
    co_await MarkFailed(session_, epoch, std::move(completion.failed_members));
    read_.reset();
    if (epoch != session_.view()->epoch) co_return std::nullopt;
    co_return AbortOf(completion.tried, completion.status);
  }
  // What was there has ended since it was read: that is for the check to know.
  [[nodiscard]] bool HasEnded() const {
    return alive_ && !chain_.Alive(*there_, session_.WallMicros());
  }
  Task<CommitResult> Commit() {
    next_.id = id_;
    next_.history = HistoryAfter(there_.get(), next_);
    next_.confirmed = false;
    if (cas_ == ClientCas::kRises) {
      next_.cas = NextCas(session_.WallMicros(), there_.get());
    }
    if (Planted(PlantedBug::kDropBeforeFlip)) {
      DropReplaced(session_, there_, std::make_shared<const Manifest>(next_));
    }
    // Not of a key that is put once: what it costs should be worth it.
    const bool keeps = chain_.may_use_kept() && next_.is_inline && there_ &&
                       session_.cluster().known->Has(next_.key, there_->id);
    return chain_.committer().Commit(
        *read_, next_, keeps ? NewToken::kKept : NewToken::kForgotten);
  }
  // A refusal says no more than that another change came between.
  [[nodiscard]] bool by_kept() const { return by_kept_; }
  // Its end; empty where it is to be tried anew.
  std::optional<ChangeOutcome> Conclude(CommitResult result) {
    StoreCounters& counters = session_.counters();
    if (result.fate == CommitFate::kCommitted) {
      counters.commits.Add();
      // A value that is in it is of no use to any that comes after.
      if (!result.tokens.empty()) next_.value = std::string();
      auto committed = std::make_shared<const Manifest>(std::move(next_));
      DropReplaced(session_, there_, committed);
      if (!result.tokens.empty()) {
        chain_.Keep(committed, read_->view->epoch, std::move(result.tokens));
      }
      chain_.turn().Remember(committed);
      return ChangeOutcome{Status(), false, std::move(committed), {}};
    }
    session_.manifests().Erase(next_.key);
    next_.id = staged_;
    if (result.fate == CommitFate::kUnknown) {
      counters.commits_unknown.Add();
      if (Planted(PlantedBug::kDropAfterUnknown)) DropStaged(session_, next_);
      return ChangeOutcome{result.status, false, nullptr, {}};
    }
    if (!result.status.ok()) return Abort(result.status);
    (result.by_view ? counters.aborts_by_view : counters.aborts_by_rival).Add();
    // Copies of the two tries must not pass for those of one change.
    id_ = session_.NewChangeId();
    read_.reset();
    return std::nullopt;
  }

 private:
  ChangeOutcome AbortOf(const Manifest& abandoned, Status why) {
    session_.counters().aborts_by_failure.Add();
    DropStaged(session_, abandoned);
    return {std::move(why), false, nullptr, {}};
  }

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
  Change change(session, replicas, std::move(next), cas, std::move(prepared),
                std::move(check));
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
  for (;;) {
    if (change.MustPrepare()) {
      Result<ReplicasRead> read = co_await replicas.Prepare();
      if (!read) co_return change.Abort(read.error());
      change.SetRead(std::move(*read));
    }
    std::optional<ChangeOutcome> ended = change.Judge();
    if (ended) co_return std::move(*ended);
    if (change.as_stale()) {
      Status taken = co_await change.BecomeStale();
      if (!taken.ok()) co_return change.Abort(std::move(taken));
    }
    StagedCompletion completion = co_await change.Complete();
    if (!completion.status.ok()) {
      ended = co_await change.OnIncomplete(std::move(completion));
      if (ended) co_return std::move(*ended);
      continue;
    }
    if (completion.stored) turn.RestartDeadline();
    if (change.HasEnded()) {
      change.ForgetRead();
      continue;
    }
    CommitResult result = co_await change.Commit();
    const bool at_once = result.by_view || change.by_kept();
    ended = change.Conclude(std::move(result));
    if (ended) co_return std::move(*ended);
    if (at_once) continue;
    co_await turn.GiveWay();
    if (turn.Expired()) co_return change.GiveUp();
  }
}

}  // namespace ers::store
