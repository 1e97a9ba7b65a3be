#include "store/replicas/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "store/format/planted_bug.h"
#include "store/membership/ensure_lease.h"
#include "store/membership/known_changes.h"
#include "store/replicas/lineage.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// Between two tries to put back what a replica had.
constexpr net::Duration kNoRoomNap = std::chrono::milliseconds(20);

bool Took(const CasResult& result) { return result.outcome == Outcome::kOk; }

// The write has not replaced what was read, and never will.
bool NeverTakes(const CasResult& result) {
  return !Took(result) && !result.resent && result.outcome != Outcome::kLost;
}

// Has a replica still the very item that a lost write was to replace?
bool MayLand(const ReplicasRead& base, const std::vector<CasResult>& results,
             const ReplicasRead& now) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].view_changed || results[i].outcome != Outcome::kLost) {
      continue;
    }
    const ReplicaCopy& replica = base.copies[i];
    const bool there =
        std::any_of(now.copies.begin(), now.copies.end(),
                    [&replica](const ReplicaCopy& copy) {
                      return copy.member == replica.member &&
                             copy.boot_mark == replica.boot_mark &&
                             copy.token == replica.token;
                    });
    if (there) return true;
  }
  return false;
}

// Why a change was not committed: its status and by_view.
bool IsByView(const CasResult& result) {
  return !Took(result) && (result.view_changed || !Answered(result.outcome));
}

}  // namespace

Committer::Committer(const ReplicaKey& key, KeyTurn& turn,
                     ReplicaWriter& writer, Reconciler& reconciler,
                     PlainItems plain)
    : key_(key),
      turn_(turn),
      writer_(writer),
      reconciler_(reconciler),
      plain_(plain) {}

// `error`: in the server's words.
Status Committer::NoRoomAt(const ReplicaCopy& replica, Outcome outcome,
                           const std::string& error) const {
  return {outcome == Outcome::kNoMemory ? StatusCode::kNoMemory
                                        : StatusCode::kTooLarge,
          fmt::format("{} has no room for the manifest: {}",
                      key_.session.member_name(replica.member), error)};
}

Task<CommitResult> Committer::Commit(const ReplicasRead& base,
                                     const Manifest& next, NewToken token) {
  const InStep step(key_.steps, RequestStep::kCommit);
  const bool over_plain =
      std::any_of(base.copies.begin(), base.copies.end(), IsPlain);
  assert(!next.confirmed && next.key == key_.name);
  for (const ReplicaCopy& replica : base.copies) {
    if (replica.token != 0 || next.tombstone) continue;
    co_return CommitResult{
        CommitFate::kNotHappened,
        NoRoomAt(replica, Outcome::kNoMemory, "out of memory")};
  }
  CommitWrites writes(key_, writer_, base, next, token);
  // Without a lease nothing is admitted.
  (void)co_await EnsureLease(key_.session);
  writes.Start(/*over_plain=*/false);
  co_await writes;
  co_await writes.FollowUp();
  // A plain item goes last: until all others have the change there is a way
  // back, as the item is there.
  if (over_plain && writes.AllBegunTook()) {
    (void)co_await EnsureLease(key_.session);
    writes.Start(/*over_plain=*/true);
    co_await writes;
  }
  co_return co_await End(base, next, writes);
}

std::unique_ptr<CommitWrites> Committer::Begin(const ReplicasRead& base,
                                               const Manifest& next,
                                               NewToken token,
                                               void (*call)(void* context),
                                               void* context) {
  auto writes =
      std::make_unique<CommitWrites>(key_, writer_, base, next, token);
  writes->OnEnd(call, context);
  return writes->Start(/*over_plain=*/false) ? std::move(writes) : nullptr;
}

Task<CommitResult> Committer::End(const ReplicasRead& base,
                                  const Manifest& next, CommitWrites& writes) {
  if (!writes.AllTook()) return EndRest(base, next, writes);
  key_.session.cluster().known->Add(key_.name, next.id);
  return Task<CommitResult>::Ready(
      {CommitFate::kCommitted, Status(), false, writes.NewTokens()});
}

Task<CommitResult> Committer::EndRest(const ReplicasRead& base,
                                      const Manifest& next,
                                      CommitWrites& writes) {
  co_await writes.FollowUp();
  if (writes.AllTook()) co_return co_await End(base, next, writes);
  const std::vector<CasResult> results = writes.Results();
  const bool some = std::any_of(results.begin(), results.end(), Took);
  if (Planted(PlantedBug::kConfirmEarly) && some) {
    key_.session.cluster().known->Add(key_.name, next.id);
  }
  const bool acknowledged =
      (Planted(PlantedBug::kAckByPrimary) && Took(results.back())) ||
      (Planted(PlantedBug::kAckBeforePrimary) && Took(results.front()));
  if (acknowledged) {
    co_return CommitResult{CommitFate::kCommitted, Status()};
  }
  if (std::all_of(results.begin(), results.end(), NeverTakes)) {
    co_return co_await Refused(base, results);
  }
  co_return co_await Resolve(base, next, results);
}

// By all that it was sent to: nothing of the change is anywhere.
Task<CommitResult> Committer::Refused(const ReplicasRead& base,
                                      const std::vector<CasResult>& results) {
  CommitResult refused{CommitFate::kNotHappened, Status()};
  for (std::size_t i = 0; i < results.size(); ++i) {
    refused.by_view = refused.by_view || IsByView(results[i]);
    if (NoRoom(results[i].outcome)) {
      refused.status =
          NoRoomAt(base.copies[i], results[i].outcome, results[i].error);
    }
  }
  for (std::size_t i = 0; i < results.size() && refused.status.ok(); ++i) {
    const bool silent = IsByView(results[i]) && !results[i].view_changed;
    if (silent) refused.status = co_await key_.OnSilent(base.copies[i].member);
  }
  co_return refused;
}

CommitResult Committer::Unknown(const std::string& why) const {
  return {CommitFate::kUnknown,
          Status(StatusCode::kOutcomeUnknown,
                 fmt::format("the change of key '{}' was cut off: it is the "
                             "old or the new value, whole ({})",
                             key_.name, why))};
}

// A commit that stopped half way: reconcile, then see what came of it.
Task<CommitResult> Committer::Resolve(const ReplicasRead& base,
                                      const Manifest& next,
                                      const std::vector<CasResult>& results) {
  std::vector<ReplicaCopy> refused;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (NeverTakes(results[i])) refused.push_back(base.copies[i]);
  }
  reconciler_.BeginResolve(next.id, base.primary(), std::move(refused));
  const Result<ReplicasRead> now = co_await ReconcileAfter(base, results);
  if (!now) co_return Unknown(now.error().message());
  CommitResult result = FateOf(base, next, results.back(), *now);
  if (result.fate == CommitFate::kNotHappened) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      result.by_view = result.by_view || IsByView(results[i]);
      if (!NoRoom(results[i].outcome)) continue;
      result.status =
          NoRoomAt(base.copies[i], results[i].outcome, results[i].error);
    }
  }
  co_return result;
}

// All replicas, from which on no write of the change can land any more.
Task<Result<ReplicasRead>> Committer::ReconcileAfter(
    const ReplicasRead& base, const std::vector<CasResult>& results) {
  PlainItems plain = plain_;
  Result<ReplicasRead> reconciled = co_await reconciler_.Reconcile(plain);
  // An export, or a plain client, has put an item in the way of a change that
  // the primary has: it counts for nothing then.
  if (!reconciled && !NeverTakes(results.back()) &&
      reconciled.error().code() == StatusCode::kNotManaged) {
    plain = PlainItems::kTaken;
    reconciled = co_await reconciler_.Reconcile(plain);
  }
  // What a replica had before found room there until just now: others took it,
  // and give it back.
  while (!reconciled && reconciled.error().code() == StatusCode::kNoMemory &&
         !turn_.Expired()) {
    const std::shared_ptr<Wakeup> nap = Wakeup::New(key_.session.runtime());
    (void)co_await nap->Wait(kNoRoomNap);
    reconciled = co_await reconciler_.Reconcile(plain);
  }
  // What was lost must not land any more once this change counts as not
  // happened: the item gets another token.
  while (reconciled && MayLand(base, results, *reconciled)) {
    if (turn_.Expired()) {
      co_return Fail(StatusCode::kUnavailable,
                     "a server did not answer in time");
    }
    const Result<std::optional<ShownManifest>> written =
        co_await reconciler_.WriteOnce(*reconciled);
    if (!written) co_return Fail(written.error());
    reconciled = co_await reconciler_.Reconcile(plain);
  }
  co_return reconciled;
}

// `at_primary` is what came of the write there.
CommitResult Committer::FateOf(const ReplicasRead& base, const Manifest& next,
                               const CasResult& at_primary,
                               const ReplicasRead& now) const {
  const CommitResult not_happened{CommitFate::kNotHappened, Status()};
  const ReplicaCopy& primary = now.primary();
  if (primary.manifest) {
    const std::optional<bool> happened =
        Happened(next.id, base.primary().manifest.get(), *primary.manifest);
    if (happened && *happened) return {CommitFate::kCommitted, Status()};
    if (happened) return not_happened;
  }
  // Where there was no object before, ids cannot show it. But only what the
  // primary has is ever put elsewhere; and a member that is the primary still
  // has been it all the time.
  const std::size_t member = static_cast<std::size_t>(primary.member);
  const bool same_primary = primary.member == base.primary().member &&
                            now.view->members[member].incarnation ==
                                base.view->members[member].incarnation;
  if (same_primary && (NeverTakes(at_primary) || reconciler_.is_ruled_out())) {
    return not_happened;
  }
  return Unknown("others changed it meanwhile");
}

}  // namespace ers::store
