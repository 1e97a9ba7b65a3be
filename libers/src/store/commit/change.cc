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
#include "store/membership/view_changer.h"

namespace ers::store {

using net::Task;

namespace {

// Rises with every change of content, also when the maker's clock is behind,
// and over a delete.
std::uint64_t NextCas(const Manifest& next, const Manifest* there) {
  return std::max(next.id.time_us, there == nullptr ? 0 : there->cas + 1);
}

// Its blocks may be garbage to others by now (store/garbage.h). To be asked
// once the tokens are known that it commits with: those are as old, and who
// collects the blocks renews them.
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

Task<void> RunStage(Task<Status> stage, Status& status, net::Latch& latch) {
  status = co_await std::move(stage);
  latch.CountDown();
}

}  // namespace

Task<Staged> StageAndPrepare(Session& session, ReplicaSet& chain,
                             Task<Status> stage) {
  Staged staged;
  net::Latch latch(session.runtime(), 1);
  net::Spawn(RunStage(std::move(stage), staged.status, latch));
  staged.prepared = co_await chain.PrepareAhead();
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

Task<ChangeOutcome> CommitChange(Session& session, ReplicaSet& chain,
                                 Manifest next, ClientCas cas,
                                 std::optional<ReplicasRead> prepared,
                                 Check check) {
  StoreCounters& counters = session.counters();
  // The generation of what was staged; its age is the change's.
  const ChangeId staged = next.id;
  ChangeId id = staged;
  if (!chain.has_turn()) {
    Status turn = co_await chain.TakeTurn();
    if (!turn.ok()) {
      counters.aborts_by_failure.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{std::move(turn), false, nullptr, {}};
    }
    // It is what it was before those that came first.
    if (chain.waited()) prepared.reset();
  }
  // Staging took as long as the value, or who gave it, did.
  chain.RestartDeadline();
  for (;;) {
    if (!prepared || prepared->view->epoch != session.view()->epoch) {
      Result<ReplicasRead> read = co_await chain.Prepare();
      if (!read) {
        counters.aborts_by_failure.Add();
        DropStaged(session, next);
        co_return ChangeOutcome{read.error(), false, nullptr, {}};
      }
      prepared = std::move(*read);
    }
    const std::shared_ptr<const Manifest> there = prepared->primary().manifest;
    const bool alive = there && chain.Alive(*there, prepared->asked_us);
    Result<Verdict> verdict = check(alive ? there.get() : nullptr);
    if (!verdict) {
      counters.aborts_by_check.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{verdict.error(), false, nullptr, {}};
    }
    if (*verdict == Verdict::kRestart) {
      counters.aborts_by_restart.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{Status(), true, nullptr, std::move(prepared)};
    }
    if (IsFlushed(session, *prepared->view, id)) {
      id = session.NewChangeId();
    }
    if (IsTooOld(session, staged)) {
      counters.aborts_by_failure.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{TooOld(), false, nullptr, {}};
    }
    if (*verdict == Verdict::kGoOnAsStale) {
      const Status taken =
          co_await TakePlaceOf(session, *there, next, chain.steps());
      if (!taken.ok()) {
        counters.aborts_by_failure.Add();
        DropStaged(session, next);
        co_return ChangeOutcome{taken, false, nullptr, {}};
      }
    }
    StagedCompletion completion =
        co_await CompleteStaged(session, *prepared->view, chain.first_epoch(),
                                there.get(), next, chain.steps());
    if (!completion.status.ok()) {
      co_await MarkFailed(session, prepared->view->epoch,
                          std::move(completion.failed_members));
      // Who has left is backfilled when it is back. Else nobody would.
      const bool has_left = prepared->view->epoch != session.view()->epoch;
      prepared.reset();
      if (has_left) continue;
      counters.aborts_by_failure.Add();
      DropStaged(session, completion.tried);
      co_return ChangeOutcome{completion.status, false, nullptr, {}};
    }
    if (completion.stored) chain.RestartDeadline();
    // It has ended since it was read: that is for the check to know.
    if (alive && !chain.Alive(*there, session.WallMicros())) {
      prepared.reset();
      continue;
    }
    next.id = id;
    if (cas == ClientCas::kRises) next.cas = NextCas(next, there.get());
    if (Planted(PlantedBug::kDropBeforeFlip)) {
      DropReplaced(session, there, std::make_shared<const Manifest>(next));
    }
    const CommitResult result = co_await chain.Commit(*prepared, next);
    if (result.fate == CommitFate::kCommitted) {
      counters.commits.Add();
      auto committed = std::make_shared<const Manifest>(std::move(next));
      DropReplaced(session, there, committed);
      chain.Remember(committed);
      co_return ChangeOutcome{Status(), false, std::move(committed), {}};
    }
    session.manifests().Erase(next.key);
    next.id = staged;
    if (result.fate == CommitFate::kUnknown) {
      counters.commits_unknown.Add();
      if (Planted(PlantedBug::kDropAfterUnknown)) DropStaged(session, next);
      co_return ChangeOutcome{result.status, false, nullptr, {}};
    }
    if (!result.status.ok()) {
      counters.aborts_by_failure.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{result.status, false, nullptr, {}};
    }
    (result.by_view ? counters.aborts_by_view : counters.aborts_by_rival).Add();
    prepared.reset();
    if (result.by_view) continue;
    co_await chain.GiveWay();
    if (chain.Expired()) {
      DropStaged(session, next);
      co_return ChangeOutcome{chain.ChangedWithoutEnd(), false, nullptr, {}};
    }
  }
}

}  // namespace ers::store
