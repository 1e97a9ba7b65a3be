// How a replica chain reads the judge's copy alone, and asks on where that does
// not answer or shows nothing.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

using net::Outcome;
using net::Task;

Status ReplicaSet::BeginReadJudge(JudgeRequest& judge) {
  judge.view = session_.view();
  Result<Replicas> replicas = CurrentReplicas(*judge.view);
  if (!replicas) return replicas.error();
  judge.member = replicas->judge();
  judge.asked_us = session_.WallMicros();
  judge.request = net::Request();
  judge.request.verb = net::Verb::kGet;
  judge.request.key = item_key_;
  judge.request.uncounted = uncounted_;
  judge.request.tell_access = tell_access_;
  return {};
}

// What the judge's answer decides: its manifest, or why there can be none. Null
// where it did not answer under this view, and where it has nothing: others may
// know more.
std::optional<Result<ReplicaSet::Found>> ReplicaSet::JudgeAnswer(
    const JudgeRequest& judge) const {
  const Outcome outcome = judge.request.outcome;
  if (!Answered(outcome) || judge.view->epoch != session_.view()->epoch) {
    return std::nullopt;
  }
  if (outcome != Outcome::kOk && outcome != Outcome::kMiss) {
    return Fail(StatusCode::kUnavailable,
                fmt::format("{}: {}", session_.member_name(judge.member),
                            judge.request.value));
  }
  Result<ReplicaCopy> copy =
      Interpret(*judge.view, judge.member, judge.request);
  if (!copy) return Fail(copy.error());
  if (!copy->manifest) return std::nullopt;
  return Shown(copy->manifest, judge.asked_us);
}

// What a read goes by, of the manifest at the judge.
ReplicaSet::Found ReplicaSet::Shown(const Found& manifest,
                                    std::int64_t asked_us) const {
  const bool shown = manifest && (takes_ended_ || Alive(*manifest, asked_us));
  return shown ? manifest : Found();
}

Task<Result<ReplicaSet::Found>> ReplicaSet::FinishReadJudge(
    JudgeRequest& judge) {
  const InStep step(steps_, Step::kManifest);
  std::optional<Result<Found>> answer = JudgeAnswer(judge);
  if (answer) return Task<Result<Found>>::Ready(std::move(*answer));
  return AskAgain(judge);
}

Task<Result<ReplicaSet::Found>> ReplicaSet::AskAgain(JudgeRequest& judge) {
  const InStep step(steps_, Step::kManifest);
  for (int i = 0; i < kReadTries && !Expired(); ++i) {
    if (i > 0) {
      std::optional<Result<Found>> answer = JudgeAnswer(judge);
      if (answer) co_return std::move(*answer);
    }
    const bool answered = Answered(judge.request.outcome);
    if (answered && judge.view->epoch == session_.view()->epoch) break;
    if (!answered) {
      Status status = co_await ReplicaFailed(judge.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    Status status = BeginReadJudge(judge);
    if (!status.ok()) co_return Fail(std::move(status));
    Batch batch(session_.runtime());
    batch.Send(SendStep::kReadJudge, session_.link(judge.member),
               judge.request);
    co_await batch;
  }
  if (Planted(PlantedBug::kMissByJudgeAlone)) co_return Found();
  co_return co_await AskAllReplicas();
}

// Settles them where they differ.
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
    read = co_await Settle(std::move(*read));
    if (!read) co_return Fail(read.error());
  }
  co_return Shown(read->judge().manifest, read->asked_us);
}

Task<Result<std::shared_ptr<const Manifest>>> ReplicaSet::ReadJudge() {
  const InStep step(steps_, Step::kManifest);
  JudgeRequest judge;
  Status status = BeginReadJudge(judge);
  if (!status.ok()) co_return Fail(std::move(status));
  Batch batch(session_.runtime());
  batch.Send(SendStep::kReadJudge, session_.link(judge.member), judge.request);
  co_await batch;
  co_return co_await FinishReadJudge(judge);
}

}  // namespace ers::store
