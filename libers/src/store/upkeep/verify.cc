#include "store/upkeep/verify.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "store/format/keys.h"
#include "store/membership/view_loader.h"
#include "store/membership/view_probe.h"
#include "store/repair/group_check.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_probe.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

// An object that is another one each time is not read for ever.
constexpr int kMaxTries = 8;
// Objects that wait for their second snapshot.
constexpr std::size_t kMaxSuspects = 4096;

bool SameItem(const ReplicaCopy& a, const ReplicaCopy& b) {
  return a.member == b.member && a.token == b.token && a.shown() == b.shown() &&
         a.kind == b.kind;
}

bool SameItems(const ReplicasRead& a, const ReplicasRead& b) {
  return std::equal(a.copies.begin(), a.copies.end(), b.copies.begin(),
                    b.copies.end(), SameItem);
}

// To some reader: also one whose DELETE was cut off, which reconciling would
// finish.
bool ShowsObject(const ReplicasRead& replicas, const View& view) {
  return std::any_of(replicas.copies.begin(), replicas.copies.end(),
                     [&](const ReplicaCopy& copy) {
                       return copy.manifest &&
                              IsAlive(*copy.manifest, view, replicas.asked_us);
                     });
}

}  // namespace

Verifier::Verifier(Session& session, const VerifyOptions& options)
    : session_(session),
      options_(options),
      pace_(session.runtime(), options.bytes_per_second) {
  repair_.find = [this](const ObjectMap& map, int group) {
    return FindLacking(map, group);
  };
  repair_.pace = &pace_;
}

Task<Result<VerifyReport>> Verifier::Run() {
  Status status;
  if (options_.repair) status = co_await EnsureView(session_);
  if (status.ok()) status = co_await ReadView();
  if (status.code() == StatusCode::kNotFound) co_return report_;
  if (!status.ok()) co_return Fail(std::move(status));
  ListTerms terms;
  terms.wanted = options_.wanted;
  KeyWalk walk(session_, terms);
  const int parallel = std::max(1, options_.parallel);
  while (Going()) {
    const Result<bool> slice = co_await walk.NextSlice(view_);
    if (!slice) co_return Fail(slice.error());
    if (!*slice) break;
    net::Latch latch(session_.runtime(), parallel);
    for (int i = 0; i < parallel; ++i) net::Spawn(Work(walk, latch));
    co_await latch;
  }
  // Their own keys may not be wanted.
  for (const std::string& pack : std::exchange(packs_, {})) {
    if (Going()) co_await CheckKey(pack);
  }
  net::Latch latch(session_.runtime(), 1);
  net::Spawn(Work(walk, latch));
  co_await latch;
  if (!Going()) co_return Fail(status_);
  co_return report_;
}

Task<void> Verifier::Work(KeyWalk& walk, net::Latch& latch) {
  // Also where servers count as dead sooner here: another process's change may
  // be under way.
  constexpr net::Duration kMinPatience = std::chrono::seconds(1);
  const net::Duration patience = std::max<net::Duration>(
      session_.cluster().options.request_timeout, kMinPatience);
  while (Going() && (!walk.empty() || !suspects_.empty())) {
    const net::TimePoint now = session_.runtime().Now();
    const bool due = !suspects_.empty() &&
                     (walk.empty() || suspects_.size() >= kMaxSuspects ||
                      now - suspects_.front().since >= patience);
    if (due) {
      Suspect suspect = std::move(suspects_.front());
      suspects_.pop_front();
      const net::Duration left = patience - (now - suspect.since);
      if (left.count() > 0) {
        const std::shared_ptr<Wakeup> nap = Wakeup::New(session_.runtime());
        co_await nap->Wait(left);
      }
      co_await CheckSuspect(std::move(suspect));
    } else {
      const WalkedItem item = walk.Take();
      co_await CheckNew(item);
    }
    ReportProgress(walk);
  }
  latch.CountDown();
}

void Verifier::ReportProgress(const KeyWalk& walk) {
  if (!options_.progress || !Going()) return;
  const VerifyProgress progress{walked_, walk.total(), report_.bytes};
  if (!options_.progress(progress)) {
    status_ = Status(StatusCode::kUnavailable, "the check was ended");
  }
}

Task<void> Verifier::CheckNew(const WalkedItem& item) {
  const Result<std::string> found = co_await KeyOfItem(session_, item);
  ++walked_;
  if (!found) ++report_.unchecked;
  if (!found || found->empty()) co_return;
  const std::string& key = *found;
  if (options_.wanted && !options_.wanted(key)) co_return;
  co_await CheckKey(key);
}

Task<void> Verifier::CheckKey(const std::string& key) {
  const std::optional<Snapshot> snapshot = co_await Reconciled(key);
  if (!snapshot) co_return;
  if (snapshot->differ) {
    suspects_.push_back({key, snapshot->replicas, session_.runtime().Now(), 0});
    co_return;
  }
  co_await Conclude(key, *snapshot);
}

// The view was read after the first snapshot, and the change that made the
// replicas differ then would have ended since: what differs still does so for
// good.
Task<void> Verifier::CheckSuspect(Suspect suspect) {
  if (view_since_ <= suspect.since) {
    Status status = co_await ReadView();
    if (!status.ok()) {
      status_ = std::move(status);
      co_return;
    }
  }
  std::optional<Snapshot> snapshot = co_await Reconciled(suspect.key);
  if (!snapshot) co_return;
  if (snapshot->differ && !SameItems(snapshot->replicas, suspect.replicas)) {
    if (++suspect.tries == kMaxTries) {
      ++report_.unchecked;
      co_return;
    }
    suspect.replicas = std::move(snapshot->replicas);
    suspect.since = session_.runtime().Now();
    suspects_.push_back(std::move(suspect));
    co_return;
  }
  if (snapshot->differ) {
    for (const ReplicaCopy& copy : snapshot->replicas.copies) {
      if (snapshot->manifest && copy.shown() == snapshot->manifest->id)
        continue;
      snapshot->found.push_back(
          {Fault::kReplicasDiffer, -1, -1, copy.member, {}});
    }
    if (snapshot->living) co_await SnapBlocks(*snapshot);
    const Result<bool> same = co_await Unchanged(suspect.key, *snapshot);
    if (!same) {
      status_ = same.error();
      co_return;
    }
    if (!*same) {
      ++report_.unchecked;
      co_return;
    }
  }
  co_await Conclude(suspect.key, *snapshot);
}

// A snapshot of an object that no process changed under it; where the replicas
// differ, only at those.
Task<std::optional<Verifier::Snapshot>> Verifier::Reconciled(
    const std::string& key) {
  for (int i = 0; i < kMaxTries && Going(); ++i) {
    Snapshot snapshot;
    Status status = co_await SnapReplicas(key, snapshot);
    if (status.ok() && (!snapshot.living || snapshot.differ))
      co_return snapshot;
    if (!status.ok()) {
      status_ = std::move(status);
      co_return std::nullopt;
    }
    co_await SnapBlocks(snapshot);
    if (snapshot.found.empty()) co_return snapshot;
    const Result<bool> same = co_await Unchanged(key, snapshot);
    if (!same) {
      status_ = same.error();
      co_return std::nullopt;
    }
    if (*same) co_return snapshot;
  }
  if (Going()) ++report_.unchecked;
  co_return std::nullopt;
}

Task<Result<ReplicasRead>> Verifier::ReadReplicas(const std::string& key) {
  for (int i = 0; i < kMaxTries; ++i) {
    Result<std::optional<ReplicasRead>> read =
        co_await PeekAtReplicas(session_, view_, key);
    if (!read) co_return Fail(read.error());
    if (*read) co_return std::move(**read);
    Status status = co_await ReadView();
    if (!status.ok()) {
      status_ = status;
      co_return Fail(std::move(status));
    }
  }
  co_return Fail(StatusCode::kUnavailable,
                 "the servers that hold the manifest did not answer");
}

// What the object is, and whether all its replicas show it. A failure ends the
// check of all.
Task<Status> Verifier::SnapReplicas(const std::string& key,
                                    Snapshot& snapshot) {
  Result<ReplicasRead> read = co_await ReadReplicas(key);
  if (!read && !Going()) co_return status_;
  if (!read) {
    snapshot.living = true;
    snapshot.found.push_back(
        {Fault::kUnreadable, -1, -1, -1, std::string(read.error().message())});
    co_return Status();
  }
  snapshot.replicas = std::move(*read);
  const std::vector<ReplicaCopy>& copies = snapshot.replicas.copies;
  const bool plain = std::any_of(copies.begin(), copies.end(), IsPlain);
  snapshot.differ = !snapshot.replicas.Agreed() ||
                    (plain && snapshot.replicas.primary().manifest != nullptr);
  const Result<const ReplicaCopy*> deciding =
      DecidingCopy(snapshot.replicas, key);
  if (!deciding) {
    snapshot.living = true;
    snapshot.found.push_back({Fault::kUnreadable, -1, -1, -1,
                              std::string(deciding.error().message())});
    co_return Status();
  }
  snapshot.manifest = (*deciding)->manifest;
  snapshot.living = snapshot.manifest && IsAlive(*snapshot.manifest, *view_,
                                                 snapshot.replicas.asked_us);
  snapshot.plain = plain && !snapshot.living;
  // Of what no reader sees nothing needs to be the same.
  if (!snapshot.living && !ShowsObject(snapshot.replicas, *view_))
    snapshot.differ = false;
  co_return Status();
}

// A packed value is as sound as its pack, which is checked as any object.
Task<void> Verifier::SnapPack(Snapshot& snapshot) {
  const Manifest& value = *snapshot.manifest;
  const std::string key = PackKey(value.pack);
  if (options_.wanted && !options_.wanted(key)) packs_.insert(key);
  const Result<ReplicasRead> read = co_await ReadReplicas(key);
  if (!read && !Going()) co_return;
  const Result<const ReplicaCopy*> deciding =
      read ? DecidingCopy(*read, key) : Fail(read.error());
  const std::uint64_t end = value.pack_offset + value.length;
  const bool there = deciding && (*deciding)->manifest &&
                     !(*deciding)->manifest->tombstone &&
                     (*deciding)->manifest->length >= end;
  if (there) co_return;
  snapshot.found.push_back({Fault::kUnreadable, -1, -1, -1,
                            "its pack '" + key + "' does not have it"});
}

Task<void> Verifier::SnapBlocks(Snapshot& snapshot) {
  if (snapshot.manifest && snapshot.manifest->is_packed()) {
    co_await SnapPack(snapshot);
    co_return;
  }
  if (!snapshot.manifest || snapshot.manifest->is_inline) co_return;
  const ObjectMap map(snapshot.manifest);
  const ViewPtr view = view_;
  for (int group = 0; group < map.groups(); ++group) {
    (void)co_await pace_.Await(nullptr);
    GroupCheck check = co_await CheckGroup(session_, map, group, *view);
    pace_.Spend(check.bytes);
    report_.bytes += check.bytes;
    snapshot.blocks += check.blocks;
    for (const auto& [block, fault] : check.faults) {
      snapshot.found.push_back({fault,
                                group,
                                static_cast<int>(block),
                                map.MemberOf(group, block),
                                {}});
    }
    if (!check.readable.ok()) {
      snapshot.found.push_back({Fault::kUnreadable, group, -1, -1,
                                std::string(check.readable.message())});
    }
  }
}

// Whether what was found holds: in a view that was read afterwards the replicas
// show the very items that they showed before.
Task<Result<bool>> Verifier::Unchanged(const std::string& key,
                                       const Snapshot& snapshot) {
  const std::uint64_t epoch = view_->epoch;
  Status status = co_await ReadView();
  if (!status.ok()) co_return Fail(std::move(status));
  const Result<ReplicasRead> read = co_await ReadReplicas(key);
  if (!read && !Going()) co_return Fail(status_);
  // It could not be read before, and can still not.
  if (!read) co_return snapshot.replicas.copies.empty();
  if (view_->epoch != epoch || snapshot.replicas.copies.empty())
    co_return false;
  const bool same = SameItems(snapshot.replicas, *read);
  co_return same && (!snapshot.living || !snapshot.manifest ||
                     IsAlive(*snapshot.manifest, *view_, read->asked_us));
}

// As it is now, without those that are silent: a server that was just lost
// shows only when it is asked, and another process may have changed the view.
Task<Status> Verifier::ReadView() {
  const net::TimePoint asked = session_.runtime().Now();
  const Result<ViewPtr> view = co_await ReadNewestView(session_);
  if (!view) co_return view.error();
  Result<ViewPtr> now = WithoutSilent(session_, *view);
  if (!now) co_return now.error();
  view_ = std::move(*now);
  view_since_ = asked;
  co_return Status();
}

Task<Result<Lacking>> Verifier::FindLacking(const ObjectMap& map, int group) {
  const ViewPtr view = view_;
  GroupCheck check = co_await CheckGroup(session_, map, group, *view);
  pace_.Spend(check.bytes);
  if (!check.readable.ok()) co_return Fail(check.readable);
  co_return std::move(check.lacking);
}

Task<void> Verifier::Conclude(const std::string& key,
                              const Snapshot& snapshot) {
  report_.plain_items += snapshot.plain ? 1 : 0;
  if (!snapshot.living && !snapshot.differ) co_return;
  ++report_.objects;
  report_.blocks += snapshot.blocks;
  if (snapshot.found.empty()) co_return;
  ++report_.damaged;
  ReportFindings(key, snapshot);
  if (!options_.repair) co_return;
  const bool repaired = co_await Repair(key);
  report_.repaired += repaired ? 1 : 0;
}

void Verifier::ReportFindings(const std::string& key,
                              const Snapshot& snapshot) {
  bool unreadable = false;
  for (const Flaw& found : snapshot.found) {
    ++report_.faults[static_cast<std::size_t>(found.fault)];
    unreadable = unreadable || found.fault == Fault::kUnreadable;
    if (!options_.found) continue;
    Finding finding;
    finding.key = key;
    finding.fault = found.fault;
    finding.group = found.group;
    finding.block = found.block;
    if (found.member >= 0) finding.server = session_.member_name(found.member);
    finding.detail = found.detail;
    options_.found(finding);
  }
  report_.unreadable += unreadable ? 1 : 0;
}

// True: the object is whole now. What stands in the way of that was reported.
Task<bool> Verifier::Repair(const std::string& key) {
  const Result<RepairedObject> repaired =
      co_await RepairObject(session_, key, repair_);
  if (repaired) {
    report_.repaired_blocks += static_cast<std::uint64_t>(repaired->blocks);
  }
  const std::optional<Snapshot> snapshot = co_await Reconciled(key);
  co_return snapshot && !snapshot->differ && snapshot->found.empty();
}

}  // namespace ers::store
