#include "store/replicas/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/lineage.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// Between two tries to put back what a replica had.
constexpr net::Duration kNoRoomNap = std::chrono::milliseconds(20);

// Has the replica still the very item that a lost write was to replace?
bool MayLand(const ReplicaCopy& replica, const CasResult& failed,
             const ReplicasRead& now) {
  if (failed.view_changed || Answered(failed.outcome)) return false;
  return std::any_of(now.copies.begin(), now.copies.end(),
                     [&replica](const ReplicaCopy& copy) {
                       return copy.member == replica.member &&
                              copy.boot_mark == replica.boot_mark &&
                              copy.token == replica.token;
                     });
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

Task<CommitResult> Committer::Commit(const ReplicasRead& base, Manifest next) {
  const InStep step(key_.steps, Step::kCommit);
  next.history = HistoryAfter(base.primary().manifest.get());
  next.replaces = ReplacesOf(*base.view, base.primary());
  next.ends_plain = std::any_of(base.copies.begin(), base.copies.end(),
                                [](const ReplicaCopy& copy) {
                                  return copy.kind == ReplicaCopy::Kind::kPlain;
                                });
  next.key = key_.name;
  for (const ReplicaCopy& replica : base.copies) {
    if (replica.token != 0 || next.tombstone) continue;
    co_return CommitResult{
        CommitFate::kNotHappened,
        NoRoomAt(replica, Outcome::kNoMemory, "out of memory")};
  }
  for (std::size_t i = 0; i < base.copies.size(); ++i) {
    const ReplicaCopy& replica = base.copies[i];
    const bool primary = i + 1 == base.copies.size();
    if (primary && i > 0 && Planted(PlantedBug::kAckBeforePrimary)) break;
    const SendStep write =
        primary ? SendStep::kCommitPrimary : SendStep::kCommitReplica;
    const CasResult result =
        co_await writer_.Write(write, *base.view, replica, &next);
    if (result.outcome == Outcome::kOk) continue;
    const bool by_view = result.view_changed || !Answered(result.outcome);
    // Refused at the first replica at once, nothing of this change is anywhere.
    const bool untouched =
        i == 0 && !result.resent &&
        (result.view_changed || result.outcome != Outcome::kLost);
    if (!untouched) co_return co_await Resolve(base, next, replica, result);
    if (NoRoom(result.outcome)) {
      co_return CommitResult{CommitFate::kNotHappened,
                             NoRoomAt(replica, result.outcome, result.error)};
    }
    if (!result.view_changed && by_view) {
      Status status = co_await key_.OnSilent(replica.member);
      if (!status.ok()) {
        co_return CommitResult{CommitFate::kNotHappened, std::move(status)};
      }
    }
    co_return CommitResult{CommitFate::kNotHappened, Status(), by_view};
  }
  co_return CommitResult{CommitFate::kCommitted, Status()};
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
                                      const ReplicaCopy& replica,
                                      const CasResult& failed) {
  const Result<ReplicasRead> now = co_await ReconcileAfter(replica, failed);
  if (!now) co_return Unknown(now.error().message());
  CommitResult result = FateOf(base, next, *now);
  if (result.fate == CommitFate::kNotHappened) {
    result.by_view = failed.view_changed || !Answered(failed.outcome);
    if (NoRoom(failed.outcome)) {
      result.status = NoRoomAt(replica, failed.outcome, failed.error);
    }
  }
  co_return result;
}

// All replicas, from which on the failed write cannot land any more.
Task<Result<ReplicasRead>> Committer::ReconcileAfter(const ReplicaCopy& replica,
                                                     const CasResult& failed) {
  reconciler_.ForgetReplaced();
  if (NoRoom(failed.outcome)) reconciler_.GoBack();
  Result<ReplicasRead> reconciled = co_await reconciler_.Reconcile(plain_);
  // What a replica had before found room there until just now: others took it,
  // and give it back.
  while (!reconciled && reconciled.error().code() == StatusCode::kNoMemory &&
         !turn_.Expired()) {
    const std::shared_ptr<Wakeup> nap = Wakeup::New(key_.session.runtime());
    (void)co_await nap->Wait(kNoRoomNap);
    reconciled = co_await reconciler_.Reconcile(plain_);
  }
  // What was lost must not land any more once this change counts as not
  // happened: the item gets another token.
  while (reconciled && MayLand(replica, failed, *reconciled)) {
    if (turn_.Expired()) {
      co_return Fail(StatusCode::kUnavailable,
                     "a server did not answer in time");
    }
    const Result<std::optional<ShownManifest>> written =
        co_await reconciler_.WriteOnce(*reconciled);
    if (!written) co_return Fail(written.error());
    reconciled = co_await reconciler_.Reconcile(plain_);
  }
  co_return reconciled;
}

CommitResult Committer::FateOf(const ReplicasRead& base, const Manifest& next,
                               const ReplicasRead& now) const {
  const CommitResult not_happened{CommitFate::kNotHappened, Status()};
  const ReplicaCopy& primary = now.primary();
  if (primary.manifest) {
    const std::optional<bool> happened =
        Happened(next.id, base.primary().manifest.get(), *primary.manifest);
    if (happened && *happened) return {CommitFate::kCommitted, Status()};
    if (happened) return not_happened;
  }
  // Where there was no object before, ids cannot show it; the primary's item
  // can: only one change can have replaced it.
  const bool same_item = primary.member == next.replaces.member &&
                         now.view->members[primary.member].incarnation ==
                             next.replaces.incarnation;
  if (same_item && primary.token == next.replaces.token) return not_happened;
  // It had it until this very reconciling replaced it by something else.
  const Reconciler::Replaced& replaced = reconciler_.replaced();
  if (replaced.item == next.replaces && replaced.by != next.id) {
    return not_happened;
  }
  if (primary.manifest && primary.manifest->replaces == next.replaces) {
    return not_happened;
  }
  return Unknown("others changed it meanwhile");
}

}  // namespace ers::store
