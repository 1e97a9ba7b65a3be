#include "store/replicas/replica_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/format/expiry.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/in_doubt_write.h"
#include "store/membership/lineage.h"
#include "store/membership/participants.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"
#include "store/replicas/replica_copy.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// About a commit's time on a fast network, and so many times twice that.
constexpr net::Duration kFirstNap = std::chrono::milliseconds(1);
constexpr int kMaxNaps = 5;
constexpr std::uint64_t kNapParts = 1024;

// The copy for one replica.
std::string CopyFor(const View& view, int member, const Manifest& manifest) {
  Manifest copy = manifest;
  copy.member = static_cast<std::uint16_t>(member);
  copy.incarnation = view.members[member].incarnation;
  return EncodeManifest(copy);
}

// The first replica shows a change that the primary does not show yet.
bool IsUnderWay(const ReplicasRead& read) {
  const ReplicaCopy& first = read.copies.front();
  return !Impatient() && first.manifest &&
         first.shown() != read.primary().shown() &&
         first.manifest->replaces == ReplacesOf(*read.view, read.primary());
}

bool Shows(const ReplicaCopy& replica, const Reconciliation& reconciliation) {
  return replica.shown() ==
         (reconciliation.manifest ? reconciliation.manifest->id : ChangeId{});
}

}  // namespace

// A replica did not answer: it leaves the view, unless its connection only
// broke and is being made again.
Task<Status> ReplicaSet::ReplicaFailed(int member) {
  const net::ServerLink& link = session_.link(member);
  const net::ServerLink::State state = link.state();
  // Idle: its slot has another server since.
  if (state == net::ServerLink::State::kConnecting ||
      state == net::ServerLink::State::kUp ||
      state == net::ServerLink::State::kIdle) {
    return Task<Status>::Ready();
  }
  return MarkDown(session_, member, link.last_error());
}

ReplicaSet::ReplicaSet(Session& session, std::string_view key, StepTimer* steps)
    : session_(session),
      steps_(steps),
      key_(key),
      item_key_(ManifestKey(key)),
      first_epoch_(session.view()->epoch) {
  RestartDeadline();
}

Task<Status> ReplicaSet::TakeTurn() {
  if (has_turn() || out_of_turn_ || Impatient()) return Task<Status>::Ready();
  std::optional<KeyLines::Turn> turn =
      session_.cluster().lines->TryTake(session_.runtime(), key_);
  if (!turn) return WaitForTurn();
  turn_.emplace(std::move(*turn));
  return Task<Status>::Ready();
}

Task<Status> ReplicaSet::WaitForTurn() {
  const InStep step(steps_, Step::kWait);
  const net::Duration patience = session_.cluster().options.operation_timeout;
  std::optional<KeyLines::Turn> turn = co_await session_.cluster().lines->Take(
      session_.runtime(), key_, patience);
  if (!turn) {
    co_return Status(
        StatusCode::kUnavailable,
        fmt::format("changes of key '{}' that came before do not come to an "
                    "end: try again",
                    key_));
  }
  turn_.emplace(std::move(*turn));
  if (const Found& found = turn_->found()) {
    if (found->tombstone) {
      session_.manifests().Erase(key_);
    } else {
      session_.manifests().Insert(found);
    }
  }
  RestartDeadline();
  co_return Status();
}

void ReplicaSet::Remember(const Found& manifest) {
  if (manifest->tombstone) {
    session_.manifests().Erase(manifest->key);
  } else {
    session_.manifests().Insert(manifest);
  }
  if (turn_) turn_->Leave(manifest);
}

// Rivals that give way alike meet again: so it is by chance. That they rise
// only so far keeps one that has lost for a while from losing for good.
Task<void> ReplicaSet::GiveWay() {
  if (Impatient()) co_return;
  const net::Duration most = kFirstNap * (1 << std::min(gave_way_, kMaxNaps));
  ++gave_way_;
  const auto part =
      static_cast<net::Duration::rep>(session_.runtime().Random() % kNapParts);
  const std::shared_ptr<Wakeup> nap = Wakeup::New(session_.runtime());
  (void)co_await nap->Wait(most * (1 + part) / kNapParts);
}

void ReplicaSet::RestartDeadline() {
  deadline_ =
      session_.runtime().Now() + session_.cluster().options.operation_timeout;
}

bool ReplicaSet::Alive(const Manifest& manifest, std::int64_t at_us) const {
  return IsAlive(manifest, *session_.view(), at_us);
}

bool ReplicaSet::Expired() const {
  return session_.runtime().Now() >= deadline_;
}

Status ReplicaSet::ChangedWithoutEnd() const {
  return {StatusCode::kUnavailable,
          fmt::format("key '{}' is changed by others without end: try again",
                      key_)};
}

Result<Replicas> ReplicaSet::CurrentReplicas(const View& view) const {
  Replicas replicas = ReplicasOf(view, session_.ring(), key_);
  if (!replicas.primary_in_sync) {
    return Fail(AllReplicasOut(session_, view, key_));
  }
  return replicas;
}

Result<ReplicaCopy> ReplicaSet::Interpret(const View& view, int member,
                                          const net::Request& request) const {
  const PlainItems plain =
      replaces_plain_ ? PlainItems::kTold : PlainItems::kRefused;
  return InterpretCopy(view, member, key_, plain, request);
}

Status ReplicaSet::InterpretAll(const View& view,
                                const std::vector<net::Request>& requests,
                                const std::vector<int>& members,
                                std::vector<ReplicaCopy>& copies) const {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Result<ReplicaCopy> copy = Interpret(view, members[i], requests[i]);
    // What a member has returned with is of before, if there is an object now.
    const auto at = static_cast<std::size_t>(members[i]);
    if (!copy && copy.error().code() == StatusCode::kNotManaged &&
        view.members[at].state == MemberState::kBackfilling) {
      const Result<ReplicaCopy> primary =
          Interpret(view, members.back(), requests.back());
      if (primary && primary->manifest) {
        copy = InterpretCopy(view, members[i], key_, PlainItems::kTold,
                             requests[i]);
      }
    }
    if (!copy) return copy.error();
    copies.push_back(std::move(*copy));
  }
  return {};
}

Task<Result<ReplicasRead>> ReplicaSet::Collect(SendStep step) {
  while (!Expired()) {
    Status leave = co_await EnsureLease(session_);
    if (!leave.ok()) co_return Fail(std::move(leave));
    ReplicasRead read;
    read.view = session_.view();
    read.asked_us = session_.WallMicros();
    Result<Replicas> replicas = CurrentReplicas(*read.view);
    if (!replicas) co_return Fail(replicas.error());
    std::vector<net::Request> requests(replicas->members.size());
    Batch batch(session_.runtime());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].verb = step == SendStep::kReadReplicas ? net::Verb::kGet
                                                         : net::Verb::kVivify;
      requests[i].key = item_key_;
      requests[i].exptime = kStubSeconds;
      // A read has asked the primary before, and a change is none.
      requests[i].no_bump = true;
      batch.Send(step, session_.link(replicas->members[i]), requests[i]);
    }
    co_await batch;
    bool retry = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const int member = replicas->members[i];
      const Outcome outcome = requests[i].outcome;
      if (!Answered(outcome)) {
        Status status = co_await ReplicaFailed(member);
        if (!status.ok()) co_return Fail(std::move(status));
        retry = true;
        continue;
      }
      if (outcome == Outcome::kNoMemory) {
        session_.cluster().needs.NoteShortage();
      }
      if (outcome == Outcome::kServerError) {
        co_return Fail(StatusCode::kUnavailable,
                       fmt::format("{}: {}", session_.member_name(member),
                                   requests[i].value));
      }
    }
    if (retry || session_.view()->epoch != read.view->epoch) continue;
    Status known =
        InterpretAll(*read.view, requests, replicas->members, read.copies);
    if (!known.ok()) co_return Fail(std::move(known));
    co_return read;
  }
  co_return Fail(StatusCode::kUnavailable,
                 "the servers that hold the manifest did not answer in time");
}

Task<Result<ReplicasRead>> ReplicaSet::Prepare() {
  const InStep step(steps_, Step::kManifest);
  found_corrupted_ = false;
  Result<ReplicasRead> read = co_await Collect(SendStep::kPrepare);
  if (!read || read->Agreed()) co_return read;
  if (replaces_corrupted_ && !ChooseReconciliation(*read, key_)) {
    found_corrupted_ = true;
    co_return read;
  }
  co_return co_await Reconcile(std::move(*read));
}

Task<std::optional<ReplicasRead>> ReplicaSet::PrepareAhead() {
  if (Impatient()) {
    Result<ReplicasRead> prepared = co_await Prepare();
    if (!prepared) co_return std::nullopt;
    co_return std::move(*prepared);
  }
  const InStep step(steps_, Step::kManifest);
  Result<ReplicasRead> read = co_await Collect(SendStep::kPrepare);
  if (!read || !read->Agreed()) co_return std::nullopt;
  co_return std::move(*read);
}

Task<Result<ReplicaSet::Found>> ReplicaSet::ReadReconciled() {
  Result<ReplicasRead> read = co_await Collect(SendStep::kReadReplicas);
  while (read && !read->Agreed()) {
    reconciled_ = true;
    read = co_await Collect(SendStep::kReconcileRead);
    if (!read || read->Agreed()) break;
    // Where it was written everywhere nobody asks for the tokens that it has
    // now: to read it again would be a round trip for nothing.
    Result<std::optional<Found>> written = co_await ReconcileOnce(*read);
    if (!written && DecidedAt(read->primary(), *read->view)) break;
    if (!written) co_return Fail(written.error());
    if (*written) co_return std::move(**written);
    if (Expired()) co_return Fail(ChangedWithoutEnd());
  }
  if (!read) co_return Fail(read.error());
  co_return read->primary().manifest;
}

// `seen`: what was read of them just now. A change that is under way is left to
// whoever makes it, as long as it moves: finished by others it would only take
// longer, and so would theirs.
Task<Result<ReplicasRead>> ReplicaSet::Reconcile(
    std::optional<ReplicasRead> seen) {
  while (!Expired()) {
    if (seen && IsUnderWay(*seen)) co_await GiveWay();
    Result<ReplicasRead> read = co_await Collect(SendStep::kReconcileRead);
    if (!read || read->Agreed()) co_return read;
    const bool moves = IsUnderWay(*read) && !(seen && read->SameAs(*seen));
    if (moves) {
      seen = std::move(*read);
      continue;
    }
    seen.reset();
    const Result<std::optional<Found>> written = co_await ReconcileOnce(*read);
    if (!written) co_return Fail(written.error());
  }
  co_return Fail(ChangedWithoutEnd());
}

// One pass of writes: what every replica shows now. Nothing where one of them
// met a rival or a new view.
Task<Result<std::optional<ReplicaSet::Found>>> ReplicaSet::ReconcileOnce(
    const ReplicasRead& read) {
  Result<Reconciliation> reconciliation =
      ChooseReconciliation(read, key_, goes_back_);
  if (!reconciliation) co_return Fail(reconciliation.error());
  const int count = static_cast<int>(read.copies.size());
  const bool forward =
      reconciliation->forward || Planted(PlantedBug::kReconcileFirstToLast);
  const SendStep step =
      forward ? SendStep::kReconcileForward : SendStep::kReconcileBack;
  for (int i = 0; i < count; ++i) {
    const ReplicaCopy& replica = read.copies[forward ? i : count - 1 - i];
    if (Planted(PlantedBug::kReconcileSkipsEqual) &&
        Shows(replica, *reconciliation)) {
      continue;
    }
    CasResult result;
    if (replica.kind == ReplicaCopy::Kind::kPlain &&
        !reconciliation->manifest) {
      result = co_await CasPlain(step, *read.view, replica);
    } else {
      const Manifest* shown = reconciliation->manifest.get();
      result = co_await Cas(step, *read.view, replica, shown);
    }
    if (result.outcome == Outcome::kOk) {
      if (&replica != &read.primary()) continue;
      reconciled_item_ = ReplacesOf(*read.view, replica);
      reconciled_by_ =
          reconciliation->manifest ? reconciliation->manifest->id : ChangeId();
      continue;
    }
    if (NoRoom(result.outcome)) {
      // Until the primary is written there is a way back, which needs less.
      if (forward && !std::exchange(goes_back_, true)) co_return std::nullopt;
      co_return Fail(StatusCode::kNoMemory,
                     fmt::format("{} has no memory to reconcile key '{}'",
                                 session_.member_name(replica.member), key_));
    }
    if (!result.view_changed && !Answered(result.outcome)) {
      Status status = co_await ReplicaFailed(replica.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    co_return std::nullopt;
  }
  co_return std::optional<Found>(std::move(reconciliation->manifest));
}

// Was it the primary that was written last, as reconciling goes back? Then what
// it showed is what there is, though another replica had no memory for that.
bool ReplicaSet::DecidedAt(const ReplicaCopy& primary, const View& view) const {
  return primary.kind != ReplicaCopy::Kind::kCorrupt &&
         reconciled_item_ == ReplacesOf(view, primary) &&
         reconciled_by_ == primary.shown();
}

// One manifest write; null: nothing is to be there. What takes no memory works
// where there is none: the item is deleted, also in place of a tombstone, and a
// copy that shows this already gets another token alone.
Task<ReplicaSet::CasResult> ReplicaSet::Cas(SendStep step, const View& view,
                                            const ReplicaCopy& replica,
                                            const Manifest* manifest) {
  const bool ends = manifest == nullptr || manifest->tombstone;
  CasResult result;
  // No item, nor memory for one: what was sent before does nothing, either.
  if (replica.token == 0 && ends) {
    result.outcome = Outcome::kOk;
    co_return result;
  }
  net::Request request;
  if (manifest != nullptr) {
    const std::string bytes = CopyFor(view, replica.member, *manifest);
    const iovec body{const_cast<char*>(bytes.data()), bytes.size()};
    request.verb = net::Verb::kCas;
    request.exptime = ManifestExptime(*manifest, session_.WallMicros());
    request.body = {&body, 1};
    result = co_await CasItem(step, view, replica, manifest->id, request);
    const bool shown = replica.shown() == manifest->id;
    if (result.outcome != Outcome::kNoMemory || !(ends || shown)) {
      co_return result;
    }
    request = net::Request();
    request.verb = shown ? net::Verb::kRenew : net::Verb::kDelete;
  } else {
    request.verb = net::Verb::kDelete;
  }
  co_return co_await CasItem(step, view, replica, ChangeId(), request);
}

// Does to the copy what `request` says, if it is still the one that was read. A
// lost reply is asked for again by sending the same over a new connection to
// the same server process: whichever of the two comes second is refused by the
// token, so both are harmless once the second was answered.
Task<ReplicaSet::CasResult> ReplicaSet::CasItem(SendStep step, const View& view,
                                                const ReplicaCopy& replica,
                                                const ChangeId& id,
                                                net::Request& request) {
  CasResult result;
  if (replica.token == 0) {
    result.outcome = Outcome::kNoMemory;
    result.error = "out of memory";
    co_return result;
  }
  // Where servers take their time, the lease would run out between two
  // replicas; without it nothing is admitted.
  (void)co_await EnsureLease(session_);
  ViewKeeper& keeper = session_.cluster().keeper;
  const Lease& lease = session_.cluster().lease;
  bool admitted = keeper.BeginWrite(view.epoch, replica.member);
  if (admitted && !lease.Holds(session_.runtime().Now())) {
    keeper.EndWrite(replica.member);
    admitted = false;
  }
  if (!admitted) {
    // It may wait for other processes: nothing to do until it is over.
    co_await AwaitChange(session_);
    result.view_changed = true;
    co_return result;
  }
  if (Planted(PlantedBug::kCommitBySet) && request.verb == net::Verb::kCas) {
    request.verb = net::Verb::kSet;
  }
  request.key = item_key_;
  request.token = replica.token;
  if (Planted(PlantedBug::kEndsUnread) && request.verb == net::Verb::kDelete) {
    request.token = 0;
  }
  request.only_connection = replica.connection;
  TellManifestWrite(view.epoch, replica.member, item_key_, replica.token, id);
  Batch batch(session_.runtime());
  batch.Send(step, session_.link(replica.member), request);
  co_await batch;
  bool lost = request.outcome == Outcome::kLost;
  for (int i = 0; i < kReadTries && lost; ++i) {
    if (session_.link(replica.member).state() ==
            net::ServerLink::State::kFailed ||
        !lease.Holds(session_.runtime().Now())) {
      break;
    }
    result.resent = true;
    request.only_connection = 0;
    request.only_boot = replica.boot_mark;
    batch.Send(SendStep::kRepeatCas, session_.link(replica.member), request);
    co_await batch;
    if (EndsBoth(request.outcome)) lost = false;
  }
  if (lost) {
    request.outcome = Outcome::kLost;
    const std::optional<ViewKeeper::DoubtId> doubt =
        keeper.PutInDoubt(view.epoch, replica.member);
    if (doubt) {
      ResolveLater(session_, view.epoch, *doubt, request, replica.boot_mark);
    }
  } else {
    keeper.EndWrite(replica.member);
  }
  result.outcome = request.outcome;
  result.error = request.value;
  if (result.outcome == Outcome::kNoMemory) {
    session_.cluster().needs.NoteShortage();
  }
  co_return result;
}

}  // namespace ers::store
