#include "store/replicas/reconciler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/known_changes.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

bool IsUnderWay(const ReplicasRead& read) {
  return !Impatient() && read.IsUnderWay();
}

ChangeId IdOf(const ShownManifest& manifest) {
  return manifest ? manifest->id : ChangeId();
}

bool IsCorrupt(const ReplicaCopy& copy) {
  return copy.kind == ReplicaCopy::Kind::kCorrupt;
}

bool IsSameItem(const ReplicaCopy& a, const ReplicaCopy& b) {
  return a.member == b.member && a.boot_mark == b.boot_mark &&
         a.token == b.token;
}

bool IsInSync(const View& view, const ReplicaCopy& copy) {
  return view.members[static_cast<std::size_t>(copy.member)].InSync();
}

// Does the copy show another change that was made over the same? By the last
// before it: how many before that are kept depends on the change itself.
bool IsRival(const Manifest& change, const ReplicaCopy& copy) {
  if (!copy.manifest || copy.shown() == change.id) return false;
  const auto& theirs = copy.manifest->history;
  const auto& ours = change.history;
  return theirs.empty() ? ours.empty()
                        : !ours.empty() && theirs.front() == ours.front();
}

std::vector<const ReplicaCopy*> Others(const ReplicasRead& read) {
  std::vector<const ReplicaCopy*> others;
  for (const ReplicaCopy& copy : read.copies) {
    if (&copy != &read.primary()) others.push_back(&copy);
  }
  return others;
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
    if (written) continue;
    if (written.error().code() != StatusCode::kNoMemory) {
      co_return Fail(written.error());
    }
    const Result<bool> taken_back = co_await TakeBack(plain);
    if (!taken_back) co_return Fail(taken_back.error());
    if (!*taken_back) co_return Fail(written.error());
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
    if (!written && written.error().code() == StatusCode::kNoMemory) {
      Result<ShownManifest> shown =
          co_await ReadWithoutRoom(PlainItems::kRefused, written.error());
      if (!shown) co_return Fail(shown.error());
      co_return Read{std::move(*shown), differed};
    }
    if (!written) co_return Fail(written.error());
    if (*written) co_return Read{std::move(**written), differed};
    if (turn_.Expired()) co_return Fail(turn_.ChangedWithoutEnd());
  }
  if (!read) co_return Fail(read.error());
  co_return Read{read->primary().manifest, differed};
}

// What the deciding copy shows is what all others in sync show, or they are
// damaged. Once it cannot be taken back any more, which needs its item and
// another one as they were, nothing else is ever shown.
Task<Result<ShownManifest>> Reconciler::ReadWithoutRoom(PlainItems plain,
                                                        Status why) {
  const Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kReconcileRead, plain);
  if (!read) co_return Fail(read.error());
  const View& view = *read->view;
  for (auto copy = read->copies.rbegin(); copy != read->copies.rend(); ++copy) {
    const bool committed =
        reader_.IsCommitted(*copy) || read->ProvenByAnother(*copy);
    if (committed && IsInSync(view, *copy)) co_return copy->manifest;
  }
  const Result<const ReplicaCopy*> deciding = DecidingCopy(*read, key_.name);
  if (!deciding) co_return Fail(deciding.error());
  const ShownManifest shown = (*deciding)->manifest;
  if (!shown) co_return Fail(std::move(why));
  std::vector<const ReplicaCopy*> fenced;
  for (const ReplicaCopy& copy : read->copies) {
    const bool differs = copy.shown() != shown->id;
    if (differs && IsInSync(view, copy) && !IsCorrupt(copy)) {
      co_return Fail(std::move(why));
    }
    if (differs || &copy == *deciding) fenced.push_back(&copy);
  }
  const std::vector<CasResult> results = co_await writer_.AtOnce(
      fenced, [&](const ReplicaCopy& copy) { return WriteBack(view, copy); });
  for (const CasResult& result : results) {
    if (result.outcome != Outcome::kOk) co_return Fail(std::move(why));
  }
  key_.session.cluster().known->Add(key_.name, shown->id);
  co_return shown;
}

// Has the write of `replica` arrived? A replica that does not answer leaves the
// view.
Task<Result<bool>> Reconciler::Replaced(const ReplicaCopy& replica,
                                        const CasResult& result) {
  if (result.outcome == Outcome::kOk) co_return true;
  if (NoRoom(result.outcome)) {
    co_return Fail(
        StatusCode::kNoMemory,
        fmt::format("{} has no memory to reconcile key '{}'",
                    key_.session.member_name(replica.member), key_.name));
  }
  if (!result.view_changed && !Answered(result.outcome)) {
    Status status = co_await key_.OnSilent(replica.member);
    if (!status.ok()) co_return Fail(std::move(status));
  }
  co_return false;
}

// The primary's item has been replaced, by the change `by`.
void Reconciler::NotePrimary(const ReplicasRead& read, const ChangeId& by) {
  if (!base_ || by == resolved_) return;
  ruled_out_ = ruled_out_ || IsSameItem(read.primary(), *base_);
}

Task<Result<std::optional<ShownManifest>>> Reconciler::WriteOnce(
    const ReplicasRead& read) {
  const Result<const ReplicaCopy*> deciding = DecidingCopy(read, key_.name);
  if (!deciding) co_return Fail(deciding.error());
  const ShownManifest manifest = (*deciding)->manifest;
  const auto write = [&](const ReplicaCopy& replica) {
    const SendStep step = &replica == &read.primary()
                              ? SendStep::kReconcilePrimary
                              : SendStep::kReconcileReplica;
    if (IsPlain(replica) && !manifest) {
      return writer_.WritePlainBack(step, *read.view, replica);
    }
    return writer_.Write(step, *read.view, replica, manifest.get());
  };
  const bool shows_it = *deciding == &read.primary();
  if (!shows_it || !Planted(PlantedBug::kNoRestamp)) {
    const CasResult result = co_await write(read.primary());
    const Result<bool> replaced = co_await Replaced(read.primary(), result);
    if (!replaced) co_return Fail(replaced.error());
    if (!*replaced) co_return std::nullopt;
    NotePrimary(read, IdOf(manifest));
  }
  const std::vector<const ReplicaCopy*> others = Others(read);
  const std::vector<CasResult> results = co_await writer_.AtOnce(others, write);
  bool all = true;
  Status failed;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Result<bool> replaced = co_await Replaced(*others[i], results[i]);
    if (!replaced && failed.ok()) failed = replaced.error();
    all = all && replaced && *replaced;
  }
  if (!failed.ok()) co_return Fail(std::move(failed));
  if (!all) co_return std::nullopt;
  key_.session.cluster().known->Add(key_.name, IdOf(manifest));
  co_return std::optional<ShownManifest>(manifest);
}

void Reconciler::BeginResolve(const ChangeId& change, const ReplicaCopy& base,
                              std::vector<ReplicaCopy> refused) {
  resolved_ = change;
  base_ = base;
  refused_ = std::move(refused);
  ruled_out_ = false;
}

// A copy that shows that the primary's change has not been at all replicas: it
// still has what that change was made over, or another change of that.
const ReplicaCopy* Reconciler::WitnessOf(const ReplicasRead& read) const {
  const ReplicaCopy& primary = read.primary();
  if (!primary.manifest || reader_.IsCommitted(primary)) return nullptr;
  for (const ReplicaCopy* copy : Others(read)) {
    // A plain item may have been put there since.
    const bool was_never_there = IsMadeOver(*primary.manifest, *copy) ||
                                 IsRival(*primary.manifest, *copy);
    if (!IsPlain(*copy) && IsInSync(*read.view, *copy) && was_never_there) {
      return copy;
    }
    if (primary.shown() != resolved_) continue;
    const bool refused =
        std::any_of(refused_.begin(), refused_.end(), [&](const auto& before) {
          return copy->token != 0 && IsSameItem(*copy, before);
        });
    if (refused && !IsCorrupt(*copy)) return copy;
  }
  return nullptr;
}

// The primary has a change for which another replica has no room: it gets back
// what that one shows. That one first gets a new token, so that the change
// cannot be finished there any more by what was sent before. False: no copy
// proves that it may be.
Task<Result<bool>> Reconciler::TakeBack(PlainItems plain) {
  const Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kReconcileRead, plain);
  if (!read) co_return Fail(read.error());
  const ReplicaCopy* witness = WitnessOf(*read);
  if (witness == nullptr) co_return read->Agreed();
  const View& view = *read->view;
  const CasResult fenced = co_await WriteBack(view, *witness);
  const Result<bool> is_fenced = co_await Replaced(*witness, fenced);
  if (!is_fenced) co_return Fail(is_fenced.error());
  if (!*is_fenced) co_return true;
  const CasResult result =
      co_await writer_.Write(SendStep::kReconcilePrimary, view, read->primary(),
                             witness->manifest.get());
  const Result<bool> replaced = co_await Replaced(read->primary(), result);
  if (!replaced) co_return Fail(replaced.error());
  if (*replaced && read->primary().shown() == resolved_) ruled_out_ = true;
  co_return true;
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
  if (IsCorrupt(replica)) return Renew(view, replica);
  if (IsPlain(replica)) {
    return writer_.WritePlainBack(SendStep::kFence, view, replica);
  }
  return writer_.Write(SendStep::kFence, view, replica, replica.manifest.get());
}

Task<CasResult> Reconciler::Renew(const View& view,
                                  const ReplicaCopy& replica) {
  net::Request request;
  request.verb = net::Verb::kRenew;
  co_return co_await writer_.WriteItem(SendStep::kFence, view, replica,
                                       ChangeId(), request);
}

Task<Result<ReplicasRead>> Reconciler::Fence() {
  while (!turn_.Expired()) {
    Result<ReplicasRead> read = co_await ReadToFence();
    if (!read || Planted(PlantedBug::kNoFence)) co_return read;
    std::vector<const ReplicaCopy*> all;
    for (const ReplicaCopy& copy : read->copies) all.push_back(&copy);
    const std::vector<CasResult> results = co_await writer_.AtOnce(
        all,
        [&](const ReplicaCopy& copy) { return WriteBack(*read->view, copy); });
    bool fenced = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      fenced = fenced && results[i].outcome == Outcome::kOk;
      if (results[i].outcome == Outcome::kNoMemory) {
        co_return Fail(
            StatusCode::kNoMemory,
            fmt::format("{} has no memory to write key '{}' again",
                        key_.session.member_name(all[i]->member), key_.name));
      }
      if (!results[i].view_changed && !Answered(results[i].outcome)) {
        Status status = co_await key_.OnSilent(all[i]->member);
        if (!status.ok()) co_return Fail(std::move(status));
      }
    }
    if (fenced) co_return read;
  }
  co_return Fail(turn_.ChangedWithoutEnd());
}

}  // namespace ers::store
