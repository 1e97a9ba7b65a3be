#include "store/commit/pending_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/blocks/dropping.h"
#include "store/blocks/extend.h"
#include "store/format/change_age.h"
#include "store/format/expiry.h"
#include "store/format/keys.h"
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
bool IsTooOld(const ChangeId& id, std::int64_t now_us) {
  using std::chrono::microseconds;
  return microseconds(now_us) - microseconds(id.time_us) > ChangeTimeout() &&
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

}  // namespace

PendingChange::PendingChange(Session& session, ReplicaSet& replicas,
                             Manifest next, ClientCas cas,
                             std::optional<ReplicasRead> prepared, Check check)
    : session_(session),
      chain_(replicas),
      next_(std::move(next)),
      cas_(cas),
      check_(std::move(check)),
      staged_(next_.id),
      id_(staged_),
      read_(std::move(prepared)) {}

bool PendingChange::MustPrepare() const {
  return !read_ || read_->view->epoch != session_.view()->epoch;
}

void PendingChange::SetRead(ReplicasRead read) {
  read_ = std::move(read);
  by_kept_ = false;
}

void PendingChange::UseKept() {
  if (!next_.is_inline || !MustPrepare()) return;
  read_ = chain_.TakeKept();
  by_kept_ = read_.has_value();
}

ChangeOutcome PendingChange::GiveUp() {
  DropStaged(session_, next_);
  return {chain_.turn().ChangedWithoutEnd(), false, nullptr, {}};
}

std::optional<ChangeOutcome> PendingChange::Judge() {
  there_ = read_->primary().manifest;
  alive_ = there_ && chain_.Alive(*there_, read_->asked_us);
  const Result<Verdict> verdict =
      check_ ? check_(alive_ ? there_.get() : nullptr) : Verdict::kGoOn;
  StoreCounters& counters = session_.counters();
  if (IsPackKey(next_.key) && !chain_.may_change_packs()) {
    return Abort(Status(
        StatusCode::kInvalidArgument,
        fmt::format("key '{}' is a pack's, which holds the values of other "
                    "keys: use another key",
                    next_.key)));
  }
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
  const std::int64_t now_us = session_.WallMicros();
  // Committed, it would be absent at once, and what it replaces be gone: that
  // may have been put behind the flush.
  if (read_->view->IsFlushed(id_, now_us)) id_ = session_.NewChangeId();
  if (IsTooOld(staged_, now_us)) return Abort(TooOld());
  as_stale_ = *verdict == Verdict::kGoOnAsStale;
  return std::nullopt;
}

Task<Status> PendingChange::BecomeStale() {
  return TakePlaceOf(session_, *there_, next_, chain_.steps());
}

Task<StagedCompletion> PendingChange::Complete() {
  if (next_.is_inline) return Task<StagedCompletion>::Ready();
  return CompleteStaged(session_, *read_->view, chain_.first_epoch(),
                        there_.get(), next_, chain_.steps());
}

Task<std::optional<ChangeOutcome>> PendingChange::OnIncomplete(
    StagedCompletion completion) {
  const std::uint64_t epoch = read_->view->epoch;
  co_await MarkFailed(session_, epoch, std::move(completion.failed_members));
  read_.reset();
  if (epoch != session_.view()->epoch) co_return std::nullopt;
  co_return AbortOf(completion.tried, completion.status);
}

bool PendingChange::HasEnded() const {
  return alive_ && !chain_.Alive(*there_, session_.WallMicros());
}

// As it is to be committed now.
NewToken PendingChange::Seal() {
  next_.id = id_;
  next_.history = HistoryAfter(there_.get(), next_);
  next_.confirmed = false;
  if (cas_ == ClientCas::kRises) {
    next_.cas = NextCas(session_.RisingMicros(), there_.get());
  }
  if (Planted(PlantedBug::kDropBeforeFlip)) {
    DropReplaced(session_, there_, std::make_shared<const Manifest>(next_));
  }
  // Not of a key that is put once: what it costs should be worth it.
  const bool keeps =
      chain_.may_use_kept() && next_.is_inline && there_ &&
      (by_kept_ || session_.cluster().known->Has(next_.key, there_->id));
  return keeps ? NewToken::kKept : NewToken::kForgotten;
}

Task<CommitResult> PendingChange::Commit() {
  const NewToken token = Seal();
  return chain_.committer().Commit(*read_, next_, token);
}

std::unique_ptr<CommitWrites> PendingChange::BeginCommit(
    void (*call)(void* context), void* context) {
  const NewToken token = Seal();
  return chain_.committer().Begin(*read_, next_, token, call, context);
}

Task<CommitResult> PendingChange::EndCommit(CommitWrites& writes) {
  return chain_.committer().End(*read_, next_, writes);
}

std::optional<ChangeOutcome> PendingChange::Conclude(CommitResult result) {
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

ChangeOutcome PendingChange::AbortOf(const Manifest& abandoned, Status why) {
  session_.counters().aborts_by_failure.Add();
  DropStaged(session_, abandoned);
  return {std::move(why), false, nullptr, {}};
}

Task<ChangeOutcome> GoOn(PendingChange& change, ReplicaSet& replicas,
                         std::optional<CommitResult> tried) {
  KeyTurn& turn = replicas.turn();
  for (;; tried.reset()) {
    std::optional<ChangeOutcome> ended;
    if (!tried) {
      if (change.MustPrepare()) {
        Result<ReplicasRead> read = co_await replicas.Prepare();
        if (!read) co_return change.Abort(read.error());
        change.SetRead(std::move(*read));
      }
      ended = change.Judge();
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
      tried = co_await change.Commit();
    }
    const bool at_once = tried->by_view || change.by_kept();
    ended = change.Conclude(std::move(*tried));
    if (ended) co_return std::move(*ended);
    if (at_once) continue;
    co_await turn.GiveWay();
    if (turn.Expired()) co_return change.GiveUp();
  }
}

}  // namespace ers::store
