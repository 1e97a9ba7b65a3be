#include "store/replicas/exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/expiry.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

bool IsForm(const ReplicaCopy& copy, const PlainForm& form) {
  return IsPlain(copy) && copy.member == form.member &&
         copy.plain == form.value && copy.plain_flags == form.client_flags;
}

// Nothing but the object, or what an export that was cut off left of it.
bool MayGoOn(const ReplicasRead& read, const ChangeId& base) {
  const bool begun =
      std::any_of(read.copies.begin(), read.copies.end(), IsPlain);
  return std::all_of(
      read.copies.begin(), read.copies.end(), [&](const ReplicaCopy& copy) {
        return copy.shown() == base ||
               (begun && copy.kind != ReplicaCopy::Kind::kManifest &&
                copy.kind != ReplicaCopy::Kind::kCorrupt);
      });
}

}  // namespace

Exporter::Exporter(const ReplicaKey& key, ReplicaReader& reader,
                   ReplicaWriter& writer, Reconciler& reconciler)
    : key_(key), reader_(reader), writer_(writer), reconciler_(reconciler) {}

// All replicas, if they let the value go on as a plain item.
Task<Result<ReplicasRead>> Exporter::Collect(const PlainForm& form,
                                             SendStep step) {
  Result<ReplicasRead> read =
      co_await reader_.Collect(step, PlainItems::kTaken);
  if (!read) co_return read;
  bool reachable = false;
  for (const ReplicaCopy& copy : read->copies) {
    reachable = reachable || copy.member == form.member;
    if (IsPlain(copy) && !IsForm(copy, form)) {
      co_return Fail(
          StatusCode::kConflict,
          fmt::format("key '{}' holds an object and, on {}, a plain item of "
                      "another value: remove one of them",
                      key_.name, key_.session.member_name(copy.member)));
    }
  }
  if (!reachable) {
    co_return Fail(
        StatusCode::kUnavailable,
        fmt::format("{} is out, which plain clients ask for key '{}': bring it "
                    "back",
                    key_.session.member_name(form.member), key_.name));
  }
  co_return read;
}

Task<Result<bool>> Exporter::Check(const ChangeId& base,
                                   const PlainForm& form) {
  const InStep step(key_.steps, RequestStep::kManifest);
  const Result<ReplicasRead> read =
      co_await Collect(form, SendStep::kReadReplicas);
  if (!read) co_return Fail(read.error());
  co_return read->primary().shown() == base;
}

Task<Result<std::optional<ReplicasRead>>> Exporter::Prepare(
    const ChangeId& base, const PlainForm& form) {
  const InStep step(key_.steps, RequestStep::kManifest);
  Result<ReplicasRead> read = co_await Collect(form, SendStep::kPrepare);
  if (!read) co_return Fail(read.error());
  if (Planted(PlantedBug::kExportOldValue)) co_return std::move(*read);
  if (read->primary().shown() != base) co_return std::nullopt;
  if (MayGoOn(*read, base)) co_return std::move(*read);
  Result<ReplicasRead> reconciled =
      co_await reconciler_.Reconcile(PlainItems::kTaken);
  if (!reconciled) co_return Fail(reconciled.error());
  co_return std::nullopt;
}

Task<CasResult> Exporter::Write(SendStep step, const View& view,
                                const ReplicaCopy& replica,
                                const PlainForm& form) {
  if (replica.member != form.member) {
    co_return co_await writer_.Write(step, view, replica, nullptr);
  }
  const iovec body{const_cast<char*>(form.value.data()), form.value.size()};
  net::Request request;
  request.verb = net::Verb::kCas;
  request.client_flags = form.client_flags;
  request.exptime = PlainExptime(form.expiry, key_.session.WallMicros());
  request.body = {&body, 1};
  const ChangeId none;
  co_return co_await writer_.WriteItem(step, view, replica, none, request);
}

Task<CommitResult> Exporter::Commit(const ReplicasRead& base,
                                    const PlainForm& form) {
  const InStep step(key_.steps, RequestStep::kCommit);
  for (std::size_t i = 0; i < base.copies.size(); ++i) {
    const ReplicaCopy& replica = base.copies[i];
    const SendStep send = i + 1 == base.copies.size()
                              ? SendStep::kExportPrimary
                              : SendStep::kExportReplica;
    const CasResult result = co_await Write(send, *base.view, replica, form);
    if (result.outcome == Outcome::kOk) continue;
    co_return co_await OnFailure(i == 0, replica, result);
  }
  co_return CommitResult{CommitFate::kCommitted, Status()};
}

// At `replica`, which is the first one or not.
Task<CommitResult> Exporter::OnFailure(bool first, const ReplicaCopy& replica,
                                       const CasResult& failed) {
  if (!NoRoom(failed.outcome)) {
    const bool untouched =
        first && !failed.resent && failed.outcome != Outcome::kLost;
    co_return CommitResult{
        untouched ? CommitFate::kNotHappened : CommitFate::kUnknown, Status()};
  }
  CommitResult ended{CommitFate::kNotHappened, Status()};
  ended.status = Status(
      failed.outcome == Outcome::kNoMemory ? StatusCode::kNoMemory
                                           : StatusCode::kTooLarge,
      fmt::format("{} has no room for the plain item: {}",
                  key_.session.member_name(replica.member), failed.error));
  if (first) co_return ended;
  // The primary has the object still: the replicas before it get it back.
  const Result<ReplicasRead> reconciled =
      co_await reconciler_.Reconcile(PlainItems::kTaken);
  if (!reconciled) {
    co_return CommitResult{
        CommitFate::kUnknown,
        Status(StatusCode::kOutcomeUnknown, reconciled.error().message())};
  }
  co_return ended;
}

}  // namespace ers::store
