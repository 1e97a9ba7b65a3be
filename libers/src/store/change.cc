#include "store/change.h"

#include <algorithm>
#include <utility>

#include "store/dropping.h"
#include "store/planted_bug.h"
#include "store/view_changer.h"

namespace ers::store {

using net::Task;

namespace {

// Rises with every change of content, also when the maker's clock is behind,
// and over a delete.
std::uint64_t NextCas(const Manifest& next, const Manifest* there) {
  return std::max(next.id.time_us, there == nullptr ? 0 : there->cas + 1);
}

Task<void> RunStage(Task<Status> stage, Status& status, net::Latch& latch) {
  status = co_await std::move(stage);
  latch.CountDown();
}

}  // namespace

Task<Staged> StageAndPrepare(Session& session, HomeChain& chain,
                             Task<Status> stage) {
  Staged staged;
  net::Latch latch(session.runtime(), 1);
  net::Spawn(RunStage(std::move(stage), staged.status, latch));
  Result<HomesRead> read = co_await chain.Prepare();
  co_await latch;
  if (read) staged.prepared = std::move(*read);
  co_return staged;
}

Task<void> MarkFailed(Session& session, std::set<int> members) {
  for (const int member : members) {
    const net::ServerLink::State state = session.link(member).state();
    if (state == net::ServerLink::State::kUp) continue;
    // Beyond M the view stays as it is; what needs the member will say so.
    (void)co_await MarkDown(session, member, session.link(member).last_error());
  }
}

Check PlannedOn(const ChangeId& base) {
  return [base](const Manifest* living) -> Result<Verdict> {
    return living != nullptr && living->id == base ? Verdict::kGoOn
                                                   : Verdict::kRestart;
  };
}

Task<ChangeOutcome> CommitChange(Session& session, HomeChain& chain,
                                 Manifest next, ClientCas cas,
                                 std::optional<HomesRead> prepared,
                                 Check check) {
  // Staging took as long as the value, or who gave it, did.
  chain.RestartDeadline();
  StoreCounters& counters = session.counters();
  for (;;) {
    if (!prepared || prepared->view->epoch != session.view()->epoch) {
      Result<HomesRead> read = co_await chain.Prepare();
      if (!read) {
        counters.aborts_by_failure.Add();
        DropStaged(session, next);
        co_return ChangeOutcome{read.error(), false, nullptr};
      }
      prepared = std::move(*read);
    }
    const std::shared_ptr<const Manifest> there = prepared->judge().manifest;
    const bool alive = there && chain.Alive(*there);
    Result<Verdict> verdict = check(alive ? there.get() : nullptr);
    if (!verdict) {
      counters.aborts_by_check.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{verdict.error(), false, nullptr};
    }
    if (*verdict == Verdict::kRestart) {
      counters.aborts_by_restart.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{Status(), true, nullptr};
    }
    next.stale = next.stale || *verdict == Verdict::kGoOnAsStale;
    if (cas == ClientCas::kRises) next.cas = NextCas(next, there.get());
    if (Planted(PlantedBug::kDropBeforeFlip)) {
      DropReplaced(session, there, std::make_shared<const Manifest>(next));
    }
    const CommitResult result = co_await chain.Commit(*prepared, next);
    if (result.fate == CommitFate::kCommitted) {
      counters.commits.Add();
      auto committed = std::make_shared<const Manifest>(std::move(next));
      DropReplaced(session, there, committed);
      if (committed->tombstone) {
        session.manifests().Erase(committed->key);
      } else {
        session.manifests().Insert(committed);
      }
      co_return ChangeOutcome{Status(), false, std::move(committed)};
    }
    session.manifests().Erase(next.key);
    if (result.fate == CommitFate::kUnknown) {
      counters.commits_unknown.Add();
      if (Planted(PlantedBug::kDropAfterUnknown)) DropStaged(session, next);
      co_return ChangeOutcome{result.status, false, nullptr};
    }
    if (!result.status.ok()) {
      counters.aborts_by_failure.Add();
      DropStaged(session, next);
      co_return ChangeOutcome{result.status, false, nullptr};
    }
    counters.aborts_by_rival.Add();
    prepared.reset();
  }
}

}  // namespace ers::store
