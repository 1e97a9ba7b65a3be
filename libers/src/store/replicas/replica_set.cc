#include "store/replicas/replica_set.h"

#include <algorithm>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/batch.h"

namespace ers::store {
namespace {

using net::Task;

constexpr int kReadTries = 3;

}  // namespace

ReplicaSet::ReplicaSet(Session& session, std::string_view key, StepTimer* steps,
                       const ChangeTerms& terms)
    : key_(session, key, steps),
      replaces_corrupted_(terms.replaces_corrupted),
      plain_(terms.replaces_plain ? PlainItems::kTaken : PlainItems::kRefused),
      first_epoch_(session.view()->epoch),
      turn_(key_, terms.out_of_turn),
      reader_(key_, turn_),
      writer_(key_),
      reconciler_(key_, turn_, reader_, writer_),
      committer_(key_, turn_, writer_, reconciler_, plain_),
      exporter_(key_, reader_, writer_, reconciler_) {}

bool ReplicaSet::Alive(const Manifest& manifest, std::int64_t at_us) const {
  return IsAlive(manifest, *key_.session.view(), at_us);
}

Status ReplicaSet::BeginReadPrimary(PrimaryRequest& primary) {
  return reader_.BeginPrimary(primary);
}

Task<Result<ShownManifest>> ReplicaSet::FinishReadPrimary(
    PrimaryRequest& primary) {
  const InStep step(key_.steps, Step::kManifest);
  std::optional<Result<ShownManifest>> answer =
      reader_.PrimaryAnswer(primary, plain_);
  if (answer) return Task<Result<ShownManifest>>::Ready(std::move(*answer));
  return AskAgain(primary);
}

Task<Result<ShownManifest>> ReplicaSet::AskAgain(PrimaryRequest& primary) {
  const InStep step(key_.steps, Step::kManifest);
  Session& session = key_.session;
  for (int i = 0; i < kReadTries && !turn_.Expired(); ++i) {
    if (i > 0) {
      std::optional<Result<ShownManifest>> answer =
          reader_.PrimaryAnswer(primary, plain_);
      if (answer) co_return std::move(*answer);
    }
    const bool answered = Answered(primary.request.outcome);
    if (answered && primary.view->epoch == session.view()->epoch) break;
    if (!answered) {
      Status status = co_await key_.OnSilent(primary.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    Status status = BeginReadPrimary(primary);
    if (!status.ok()) co_return Fail(std::move(status));
    Batch batch(session.runtime());
    batch.Send(SendStep::kReadPrimary, session.link(primary.member),
               primary.request);
    co_await batch;
  }
  if (Planted(PlantedBug::kMissByPrimaryAlone)) co_return ShownManifest();
  co_return co_await AskAllReplicas(primary.terms);
}

// Reconciles them where they differ.
Task<Result<ShownManifest>> ReplicaSet::AskAllReplicas(PrimaryTerms terms) {
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kReadReplicas, plain_);
  if (!read) co_return Fail(read.error());
  const bool nothing = std::all_of(
      read->copies.begin(), read->copies.end(), [](const ReplicaCopy& copy) {
        return copy.kind == ReplicaCopy::Kind::kAbsent;
      });
  if (nothing) co_return ShownManifest();
  if (Planted(PlantedBug::kNoWriteBack)) {
    co_return reader_.Shown(read->copies.front().manifest, read->asked_us,
                            terms);
  }
  if (!read->Agreed()) {
    read = co_await reconciler_.Reconcile(plain_, std::move(*read));
    if (!read) co_return Fail(read.error());
  }
  co_return reader_.Shown(read->primary().manifest, read->asked_us, terms);
}

Task<Result<ShownManifest>> ReplicaSet::ReadPrimary(PrimaryTerms terms) {
  const InStep step(key_.steps, Step::kManifest);
  PrimaryRequest primary;
  primary.terms = terms;
  Status status = BeginReadPrimary(primary);
  if (!status.ok()) co_return Fail(std::move(status));
  Session& session = key_.session;
  Batch batch(session.runtime());
  batch.Send(SendStep::kReadPrimary, session.link(primary.member),
             primary.request);
  co_await batch;
  co_return co_await FinishReadPrimary(primary);
}

Task<Result<ReplicasRead>> ReplicaSet::Prepare() {
  const InStep step(key_.steps, Step::kManifest);
  found_corrupted_ = false;
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kPrepare, plain_);
  if (!read || read->Agreed()) co_return read;
  if (replaces_corrupted_ && !ChooseReconciliation(*read, key_.name)) {
    found_corrupted_ = true;
    co_return read;
  }
  co_return co_await reconciler_.Reconcile(plain_, std::move(*read));
}

Task<std::optional<ReplicasRead>> ReplicaSet::PrepareAhead() {
  if (Impatient()) {
    Result<ReplicasRead> prepared = co_await Prepare();
    if (!prepared) co_return std::nullopt;
    co_return std::move(*prepared);
  }
  const InStep step(key_.steps, Step::kManifest);
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kPrepare, plain_);
  if (!read || !read->Agreed()) co_return std::nullopt;
  co_return std::move(*read);
}

}  // namespace ers::store
