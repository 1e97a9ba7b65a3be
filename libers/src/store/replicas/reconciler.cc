#include "store/replicas/reconciler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// The first replica shows a change that the primary does not show yet.
bool IsUnderWay(const ReplicasRead& read) {
  const ReplicaCopy& first = read.copies.front();
  return !Impatient() && first.manifest &&
         first.shown() != read.primary().shown() &&
         first.manifest->replaces == ReplacesOf(*read.view, read.primary());
}

ChangeId IdOf(const ShownManifest& manifest) {
  return manifest ? manifest->id : ChangeId();
}

bool IsPlain(const ReplicaCopy& copy) {
  return copy.kind == ReplicaCopy::Kind::kPlain;
}

bool IsCorrupt(const ReplicaCopy& copy) {
  return copy.kind == ReplicaCopy::Kind::kCorrupt;
}

}  // namespace

Reconciler::Reconciler(const ReplicaKey& key, KeyTurn& turn,
                       ReplicaReader& reader, ReplicaWriter& writer)
    : key_(key), turn_(turn), reader_(reader), writer_(writer) {}

Task<Result<ReplicasRead>> Reconciler::Reconcile(
    PlainItems plain, std::optional<ReplicasRead> seen) {
  while (!turn_.Expired()) {
    if (seen && IsUnderWay(*seen)) co_await turn_.GiveWay();
    Result<ReplicasRead> read =
        co_await reader_.Collect(SendStep::kReconcileRead, plain);
    if (!read || read->Agreed()) co_return read;
    const bool moves = IsUnderWay(*read) && !(seen && read->SameAs(*seen));
    if (moves) {
      seen = std::move(*read);
      continue;
    }
    seen.reset();
    const Result<std::optional<ShownManifest>> written =
        co_await WriteOnce(*read);
    if (!written) co_return Fail(written.error());
  }
  co_return Fail(turn_.ChangedWithoutEnd());
}

Task<Result<Reconciler::Read>> Reconciler::ReadReconciled() {
  bool differed = false;
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kReadReplicas, PlainItems::kRefused);
  while (read && !read->Agreed()) {
    differed = true;
    read = co_await reader_.Collect(SendStep::kReconcileRead,
                                    PlainItems::kRefused);
    if (!read || read->Agreed()) break;
    // Where it was written everywhere the tokens that it has now are not
    // needed: to read it again would be a round trip for nothing.
    Result<std::optional<ShownManifest>> written = co_await WriteOnce(*read);
    if (!written && DecidedAt(read->primary(), *read->view)) break;
    if (!written) co_return Fail(written.error());
    if (*written) co_return Read{std::move(**written), differed};
    if (turn_.Expired()) co_return Fail(turn_.ChangedWithoutEnd());
  }
  if (!read) co_return Fail(read.error());
  co_return Read{read->primary().manifest, differed};
}

Task<Result<std::optional<ShownManifest>>> Reconciler::WriteOnce(
    const ReplicasRead& read) {
  Result<Reconciliation> reconciliation =
      ChooseReconciliation(read, key_.name, goes_back_);
  if (!reconciliation) co_return Fail(reconciliation.error());
  const ChangeId id = IdOf(reconciliation->manifest);
  const int count = static_cast<int>(read.copies.size());
  const bool forward =
      reconciliation->forward || Planted(PlantedBug::kReconcileFirstToLast);
  const SendStep step =
      forward ? SendStep::kReconcileForward : SendStep::kReconcileBack;
  for (int i = 0; i < count; ++i) {
    const ReplicaCopy& replica = read.copies[forward ? i : count - 1 - i];
    if (Planted(PlantedBug::kReconcileSkipsEqual) && replica.shown() == id) {
      continue;
    }
    CasResult result;
    if (IsPlain(replica) && !reconciliation->manifest) {
      result = co_await writer_.WritePlainBack(step, *read.view, replica);
    } else {
      const Manifest* shown = reconciliation->manifest.get();
      result = co_await writer_.Write(step, *read.view, replica, shown);
    }
    if (result.outcome == Outcome::kOk) {
      if (&replica != &read.primary()) continue;
      replaced_ = {ReplacesOf(*read.view, replica), id};
      continue;
    }
    if (NoRoom(result.outcome)) {
      // Until the primary is written there is a way back, which needs less.
      if (forward && !std::exchange(goes_back_, true)) co_return std::nullopt;
      co_return Fail(
          StatusCode::kNoMemory,
          fmt::format("{} has no memory to reconcile key '{}'",
                      key_.session.member_name(replica.member), key_.name));
    }
    if (!result.view_changed && !Answered(result.outcome)) {
      Status status = co_await key_.OnSilent(replica.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    co_return std::nullopt;
  }
  co_return std::optional<ShownManifest>(std::move(reconciliation->manifest));
}

// Was it the primary that was written last, as reconciling goes back? Then what
// it showed is what there is, though another replica had no memory for that.
bool Reconciler::DecidedAt(const ReplicaCopy& primary, const View& view) const {
  return primary.kind != ReplicaCopy::Kind::kCorrupt &&
         replaced_.item == ReplacesOf(view, primary) &&
         replaced_.by == primary.shown();
}

// All replicas with tokens, reconciled if there is no plain item: reconciling
// would write over it.
Task<Result<ReplicasRead>> Reconciler::ReadToFence() {
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kReconcileRead, PlainItems::kTaken);
  if (!read) co_return read;
  if (std::none_of(read->copies.begin(), read->copies.end(), IsPlain)) {
    if (read->Agreed()) co_return read;
    co_return co_await Reconcile(PlainItems::kRefused);
  }
  if (std::any_of(read->copies.begin(), read->copies.end(), IsCorrupt)) {
    co_return Fail(StatusCode::kCorruption,
                   fmt::format("key '{}' holds a plain item and a manifest "
                               "that is corrupted",
                               key_.name));
  }
  co_return read;
}

// The copy's own content in its place.
Task<CasResult> Reconciler::WriteBack(const View& view,
                                      const ReplicaCopy& replica) {
  if (IsPlain(replica)) {
    return writer_.WritePlainBack(SendStep::kFence, view, replica);
  }
  return writer_.Write(SendStep::kFence, view, replica, replica.manifest.get());
}

Task<Result<ReplicasRead>> Reconciler::Fence() {
  while (!turn_.Expired()) {
    Result<ReplicasRead> read = co_await ReadToFence();
    if (!read || Planted(PlantedBug::kNoFence)) co_return read;
    bool all = true;
    for (std::size_t i = read->copies.size(); i > 0 && all; --i) {
      const ReplicaCopy& replica = read->copies[i - 1];
      const CasResult result = co_await WriteBack(*read->view, replica);
      all = result.outcome == Outcome::kOk;
      if (result.outcome == Outcome::kNoMemory) {
        co_return Fail(
            StatusCode::kNoMemory,
            fmt::format("{} has no memory to write key '{}' again",
                        key_.session.member_name(replica.member), key_.name));
      }
      if (!result.view_changed && !Answered(result.outcome)) {
        Status status = co_await key_.OnSilent(replica.member);
        if (!status.ok()) co_return Fail(std::move(status));
      }
    }
    if (all) co_return read;
  }
  co_return Fail(turn_.ChangedWithoutEnd());
}

}  // namespace ers::store
