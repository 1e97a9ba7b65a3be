// The commit that every change ends in, and what became of one that stopped
// half way.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/lineage.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_set.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// Between two tries to put back what a replica had.
constexpr net::Duration kNoRoomNap = std::chrono::milliseconds(20);

}  // namespace

// `error`: in the server's words.
Status ReplicaSet::NoRoomAt(const ReplicaCopy& replica, Outcome outcome,
                            const std::string& error) const {
  return {outcome == Outcome::kNoMemory ? StatusCode::kNoMemory
                                        : StatusCode::kTooLarge,
          fmt::format("{} has no room for the manifest: {}",
                      session_.member_name(replica.member), error)};
}

Task<CommitResult> ReplicaSet::Commit(const ReplicasRead& base, Manifest next) {
  const InStep step(steps_, Step::kCommit);
  next.history = HistoryAfter(base.primary().manifest.get());
  next.replaces = ReplacesOf(*base.view, base.primary());
  next.ends_plain = std::any_of(base.copies.begin(), base.copies.end(),
                                [](const ReplicaCopy& copy) {
                                  return copy.kind == ReplicaCopy::Kind::kPlain;
                                });
  next.key = key_;
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
    const CasResult result = co_await Cas(write, *base.view, replica, &next);
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
      Status status = co_await ReplicaFailed(replica.member);
      if (!status.ok()) {
        co_return CommitResult{CommitFate::kNotHappened, std::move(status)};
      }
    }
    co_return CommitResult{CommitFate::kNotHappened, Status(), by_view};
  }
  co_return CommitResult{CommitFate::kCommitted, Status()};
}

// Has the replica still the very item that a lost write was to replace?
bool ReplicaSet::MayLand(const ReplicaCopy& replica, const CasResult& failed,
                         const ReplicasRead& now) {
  if (failed.view_changed || Answered(failed.outcome)) return false;
  return std::any_of(now.copies.begin(), now.copies.end(),
                     [&replica](const ReplicaCopy& copy) {
                       return copy.member == replica.member &&
                              copy.boot_mark == replica.boot_mark &&
                              copy.token == replica.token;
                     });
}

// A commit that stopped half way: reconcile, then see what came of it.
Task<CommitResult> ReplicaSet::Resolve(const ReplicasRead& base,
                                       const Manifest& next,
                                       const ReplicaCopy& replica,
                                       const CasResult& failed) {
  const auto unknown = [this](const std::string& why) {
    return CommitResult{
        CommitFate::kUnknown,
        Status(StatusCode::kOutcomeUnknown,
               fmt::format("the change of key '{}' was cut off: it is the old "
                           "or the new value, whole ({})",
                           key_, why))};
  };
  reconciled_item_ = {};
  goes_back_ = goes_back_ || NoRoom(failed.outcome);
  Result<ReplicasRead> reconciled = co_await Reconcile();
  // What a replica had before found room there until just now: others took it,
  // and give it back.
  while (!reconciled && reconciled.error().code() == StatusCode::kNoMemory &&
         !Expired()) {
    const std::shared_ptr<Wakeup> nap = Wakeup::New(session_.runtime());
    (void)co_await nap->Wait(kNoRoomNap);
    reconciled = co_await Reconcile();
  }
  // What was lost must not land any more once this change counts as not
  // happened: the item gets another token.
  while (reconciled && MayLand(replica, failed, *reconciled)) {
    if (Expired()) co_return unknown("a server did not answer in time");
    const Result<std::optional<Found>> written =
        co_await ReconcileOnce(*reconciled);
    if (!written) co_return unknown(written.error().message());
    reconciled = co_await Reconcile();
  }
  if (!reconciled) co_return unknown(reconciled.error().message());
  const ReplicaCopy& primary = reconciled->primary();
  CommitResult result{CommitFate::kNotHappened, Status()};
  result.by_view = failed.view_changed || !Answered(failed.outcome);
  if (NoRoom(failed.outcome)) {
    result.status = NoRoomAt(replica, failed.outcome, failed.error);
  }
  if (primary.manifest) {
    const std::optional<bool> happened =
        Happened(next.id, base.primary().manifest.get(), *primary.manifest);
    if (happened && *happened) {
      co_return CommitResult{CommitFate::kCommitted, Status()};
    }
    if (happened) co_return result;
  }
  // Where there was no object before, ids cannot tell; the primary's item can:
  // only one change can have replaced it.
  const bool same_item =
      primary.member == next.replaces.member &&
      reconciled->view->members[primary.member].incarnation ==
          next.replaces.incarnation;
  if (same_item && primary.token == next.replaces.token) co_return result;
  // It had it until this very reconciling replaced it by something else.
  if (reconciled_item_ == next.replaces && reconciled_by_ != next.id) {
    co_return result;
  }
  if (primary.manifest && primary.manifest->replaces == next.replaces) {
    co_return result;
  }
  co_return unknown("others changed it meanwhile");
}

}  // namespace ers::store
