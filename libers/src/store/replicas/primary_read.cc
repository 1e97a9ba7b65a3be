// How a replica chain reads the primary's copy alone, and asks on where that
// does not answer or shows nothing.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

using net::Outcome;
using net::Task;

Status ReplicaSet::BeginReadPrimary(PrimaryRequest& primary) {
  primary.view = session_.view();
  Result<Replicas> replicas = CurrentReplicas(*primary.view);
  if (!replicas) return replicas.error();
  primary.member = replicas->primary();
  primary.asked_us = session_.WallMicros();
  primary.request = net::Request();
  primary.request.verb = net::Verb::kGet;
  primary.request.key = item_key_;
  primary.request.no_bump = no_bump_;
  primary.request.tell_access = tell_access_;
  return {};
}

// What the primary's answer decides: its manifest, or why there can be none.
// Null where it did not answer under this view, and where it has nothing:
// others may know more.
std::optional<Result<ReplicaSet::Found>> ReplicaSet::PrimaryAnswer(
    const PrimaryRequest& primary) const {
  const Outcome outcome = primary.request.outcome;
  if (!Answered(outcome) || primary.view->epoch != session_.view()->epoch) {
    return std::nullopt;
  }
  if (outcome != Outcome::kOk && outcome != Outcome::kMiss) {
    return Fail(StatusCode::kUnavailable,
                fmt::format("{}: {}", session_.member_name(primary.member),
                            primary.request.value));
  }
  Result<ReplicaCopy> copy =
      Interpret(*primary.view, primary.member, primary.request);
  if (!copy) return Fail(copy.error());
  if (!copy->manifest) return std::nullopt;
  return Shown(copy->manifest, primary.asked_us);
}

// What a read goes by, of the manifest at the primary.
ReplicaSet::Found ReplicaSet::Shown(const Found& manifest,
                                    std::int64_t asked_us) const {
  const bool shown = manifest && (takes_ended_ || Alive(*manifest, asked_us));
  return shown ? manifest : Found();
}

Task<Result<ReplicaSet::Found>> ReplicaSet::FinishReadPrimary(
    PrimaryRequest& primary) {
  const InStep step(steps_, Step::kManifest);
  std::optional<Result<Found>> answer = PrimaryAnswer(primary);
  if (answer) return Task<Result<Found>>::Ready(std::move(*answer));
  return AskAgain(primary);
}

Task<Result<ReplicaSet::Found>> ReplicaSet::AskAgain(PrimaryRequest& primary) {
  const InStep step(steps_, Step::kManifest);
  for (int i = 0; i < kReadTries && !Expired(); ++i) {
    if (i > 0) {
      std::optional<Result<Found>> answer = PrimaryAnswer(primary);
      if (answer) co_return std::move(*answer);
    }
    const bool answered = Answered(primary.request.outcome);
    if (answered && primary.view->epoch == session_.view()->epoch) break;
    if (!answered) {
      Status status = co_await ReplicaFailed(primary.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    Status status = BeginReadPrimary(primary);
    if (!status.ok()) co_return Fail(std::move(status));
    Batch batch(session_.runtime());
    batch.Send(SendStep::kReadPrimary, session_.link(primary.member),
               primary.request);
    co_await batch;
  }
  if (Planted(PlantedBug::kMissByPrimaryAlone)) co_return Found();
  co_return co_await AskAllReplicas();
}

// Reconciles them where they differ.
Task<Result<ReplicaSet::Found>> ReplicaSet::AskAllReplicas() {
  Result<ReplicasRead> read = co_await Collect(SendStep::kReadReplicas);
  if (!read) co_return Fail(read.error());
  const bool nothing = std::all_of(
      read->copies.begin(), read->copies.end(), [](const ReplicaCopy& copy) {
        return copy.kind == ReplicaCopy::Kind::kAbsent;
      });
  if (nothing) co_return Found();
  if (Planted(PlantedBug::kNoWriteBack)) {
    co_return Shown(read->copies.front().manifest, read->asked_us);
  }
  if (!read->Agreed()) {
    read = co_await Reconcile(std::move(*read));
    if (!read) co_return Fail(read.error());
  }
  co_return Shown(read->primary().manifest, read->asked_us);
}

Task<Result<std::shared_ptr<const Manifest>>> ReplicaSet::ReadPrimary() {
  const InStep step(steps_, Step::kManifest);
  PrimaryRequest primary;
  Status status = BeginReadPrimary(primary);
  if (!status.ok()) co_return Fail(std::move(status));
  Batch batch(session_.runtime());
  batch.Send(SendStep::kReadPrimary, session_.link(primary.member),
             primary.request);
  co_await batch;
  co_return co_await FinishReadPrimary(primary);
}

}  // namespace ers::store
