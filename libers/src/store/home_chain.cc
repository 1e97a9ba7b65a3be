#include "store/home_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/batch.h"
#include "store/expiry.h"
#include "store/home_copy.h"
#include "store/keys.h"
#include "store/lineage.h"
#include "store/peers.h"
#include "store/planted_bug.h"
#include "store/stranded_write.h"
#include "store/view_changer.h"
#include "store/view_checks.h"
#include "store/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// About a commit's time on a fast network, and so many times twice that.
constexpr net::Duration kFirstNap = std::chrono::milliseconds(1);
constexpr int kMostNaps = 5;
constexpr std::uint64_t kNapParts = 1024;

// The copy for one home; an empty item where nothing is to be there.
std::string CopyFor(const View& view, int member, const Manifest* manifest) {
  if (manifest == nullptr) return {};
  Manifest copy = *manifest;
  copy.member = static_cast<std::uint16_t>(member);
  copy.incarnation = view.members[member].incarnation;
  return EncodeManifest(copy);
}

// The first home shows a change that the judge does not show yet.
bool IsUnderWay(const HomesRead& read) {
  const HomeCopy& first = read.copies.front();
  return !Impatient() && first.manifest &&
         first.shown() != read.judge().shown() &&
         first.manifest->replaces == ReplacesOf(*read.view, read.judge());
}

bool Shows(const HomeCopy& home, const Settlement& settlement) {
  return home.shown() ==
         (settlement.manifest ? settlement.manifest->id : ChangeId{});
}

}  // namespace

// A home did not answer: it leaves the view, unless its connection only broke
// and is being made again.
Task<Status> HomeChain::HomeFailed(int member) {
  const net::ServerLink& link = session_.link(member);
  const net::ServerLink::State state = link.state();
  // Idle: its seat has another server since.
  if (state == net::ServerLink::State::kConnecting ||
      state == net::ServerLink::State::kUp ||
      state == net::ServerLink::State::kIdle) {
    return Task<Status>::Ready();
  }
  return MarkDown(session_, member, link.last_error());
}

HomeChain::HomeChain(Session& session, std::string_view key, StepTimer* steps)
    : session_(session),
      steps_(steps),
      key_(key),
      item_key_(ManifestKey(key)),
      first_epoch_(session.view()->epoch) {
  RestartDeadline();
}

Task<Status> HomeChain::TakeTurn() {
  if (has_turn() || out_of_turn_ || Impatient()) return Task<Status>::Ready();
  std::optional<KeyLines::Turn> turn =
      session_.cluster().lines->TryTake(session_.runtime(), key_);
  if (!turn) return WaitForTurn();
  turn_.emplace(std::move(*turn));
  return Task<Status>::Ready();
}

Task<Status> HomeChain::WaitForTurn() {
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

void HomeChain::Remember(const Found& manifest) {
  if (manifest->tombstone) {
    session_.manifests().Erase(manifest->key);
  } else {
    session_.manifests().Insert(manifest);
  }
  if (turn_) turn_->Leave(manifest);
}

// Rivals that give way alike meet again: so it is by chance. That they rise
// only so far keeps one that has lost for a while from losing for good.
Task<void> HomeChain::GiveWay() {
  if (Impatient()) co_return;
  const net::Duration most = kFirstNap * (1 << std::min(gave_way_, kMostNaps));
  ++gave_way_;
  const auto part =
      static_cast<net::Duration::rep>(session_.runtime().Random() % kNapParts);
  const std::shared_ptr<Wakeup> nap = Wakeup::New(session_.runtime());
  (void)co_await nap->Wait(most * (1 + part) / kNapParts);
}

void HomeChain::RestartDeadline() {
  deadline_ =
      session_.runtime().Now() + session_.cluster().options.operation_timeout;
}

bool HomeChain::Alive(const Manifest& manifest, std::int64_t at_us) const {
  return IsAlive(manifest, *session_.view(), at_us);
}

bool HomeChain::Expired() const {
  return session_.runtime().Now() >= deadline_;
}

Status HomeChain::ChangedWithoutEnd() const {
  return {StatusCode::kUnavailable,
          fmt::format("key '{}' is changed by others without end: try again",
                      key_)};
}

Result<Homes> HomeChain::CurrentHomes(const View& view) const {
  Homes homes = HomesOf(view, session_.ring(), key_);
  if (!homes.judge_is_full) {
    return Fail(StatusCode::kUnavailable,
                "every server that holds this key's manifest is out: bring "
                "one back");
  }
  return homes;
}

Result<HomeCopy> HomeChain::Interpret(const View& view, int member,
                                      const net::Request& request) const {
  const PlainItems plain =
      replaces_plain_ ? PlainItems::kTold : PlainItems::kRefused;
  return InterpretCopy(view, member, key_, plain, request);
}

Task<Result<HomesRead>> HomeChain::Collect(SendStep step) {
  while (!Expired()) {
    Status leave = co_await EnsureLease(session_);
    if (!leave.ok()) co_return Fail(std::move(leave));
    HomesRead read;
    read.view = session_.view();
    read.asked_us = session_.WallMicros();
    Result<Homes> homes = CurrentHomes(*read.view);
    if (!homes) co_return Fail(homes.error());
    std::vector<net::Request> requests(homes->members.size());
    Batch batch(session_.runtime());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].verb =
          step == SendStep::kReadHomes ? net::Verb::kGet : net::Verb::kVivify;
      requests[i].key = item_key_;
      requests[i].exptime = kStubSeconds;
      // A read has asked the judge before, and a change is none.
      requests[i].uncounted = true;
      batch.Send(step, session_.link(homes->members[i]), requests[i]);
    }
    co_await batch;
    bool retry = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const int member = homes->members[i];
      const Outcome outcome = requests[i].outcome;
      if (!Answered(outcome)) {
        Status status = co_await HomeFailed(member);
        if (!status.ok()) co_return Fail(std::move(status));
        retry = true;
        continue;
      }
      if (outcome == Outcome::kNoMemory) {
        session_.cluster().needs.NoteShortage();
      }
      if (outcome == Outcome::kNoMemory || outcome == Outcome::kServerError) {
        co_return Fail(outcome == Outcome::kNoMemory ? StatusCode::kNoMemory
                                                     : StatusCode::kUnavailable,
                       fmt::format("{}: {}", session_.member_name(member),
                                   requests[i].value));
      }
      Result<HomeCopy> copy = Interpret(*read.view, member, requests[i]);
      if (!copy) co_return Fail(copy.error());
      read.copies.push_back(std::move(*copy));
    }
    if (retry || session_.view()->epoch != read.view->epoch) continue;
    co_return read;
  }
  co_return Fail(StatusCode::kUnavailable,
                 "the servers that hold the manifest did not answer in time");
}

Task<Result<HomesRead>> HomeChain::Prepare() {
  const InStep step(steps_, Step::kManifest);
  found_corrupted_ = false;
  Result<HomesRead> read = co_await Collect(SendStep::kPrepare);
  if (!read || read->Agreed()) co_return read;
  if (replaces_corrupted_ && !ChooseSettlement(*read, key_)) {
    found_corrupted_ = true;
    co_return read;
  }
  co_return co_await Settle(std::move(*read));
}

Task<std::optional<HomesRead>> HomeChain::PrepareAhead() {
  if (Impatient()) {
    Result<HomesRead> prepared = co_await Prepare();
    if (!prepared) co_return std::nullopt;
    co_return std::move(*prepared);
  }
  const InStep step(steps_, Step::kManifest);
  Result<HomesRead> read = co_await Collect(SendStep::kPrepare);
  if (!read || !read->Agreed()) co_return std::nullopt;
  co_return std::move(*read);
}

Task<Result<HomeChain::Found>> HomeChain::ReadSettled() {
  Result<HomesRead> read = co_await Collect(SendStep::kReadHomes);
  while (read && !read->Agreed()) {
    settled_ = true;
    read = co_await Collect(SendStep::kSettleRead);
    if (!read || read->Agreed()) break;
    // Where it was written everywhere nobody asks for the tokens that it has
    // now: to read it again would be a round trip for nothing.
    Result<std::optional<Found>> written = co_await SettleOnce(*read);
    if (!written) co_return Fail(written.error());
    if (*written) co_return std::move(**written);
    if (Expired()) co_return Fail(ChangedWithoutEnd());
  }
  if (!read) co_return Fail(read.error());
  co_return read->judge().manifest;
}

// `seen`: what was read of them just now. A change that is under way is left to
// whoever makes it, as long as it moves: finished by others it would only take
// longer, and so would theirs.
Task<Result<HomesRead>> HomeChain::Settle(std::optional<HomesRead> seen) {
  while (!Expired()) {
    if (seen && IsUnderWay(*seen)) co_await GiveWay();
    Result<HomesRead> read = co_await Collect(SendStep::kSettleRead);
    if (!read || read->Agreed()) co_return read;
    const bool moves = IsUnderWay(*read) && !(seen && read->SameAs(*seen));
    if (moves) {
      seen = std::move(*read);
      continue;
    }
    seen.reset();
    const Result<std::optional<Found>> written = co_await SettleOnce(*read);
    if (!written) co_return Fail(written.error());
  }
  co_return Fail(ChangedWithoutEnd());
}

// One pass of writes: what every home shows now. Nothing where one of them met
// a rival or a new view.
Task<Result<std::optional<HomeChain::Found>>> HomeChain::SettleOnce(
    const HomesRead& read) {
  Result<Settlement> settlement = ChooseSettlement(read, key_);
  if (!settlement) co_return Fail(settlement.error());
  const int count = static_cast<int>(read.copies.size());
  const bool forward =
      settlement->forward || Planted(PlantedBug::kSettleFirstToLast);
  const SendStep step =
      forward ? SendStep::kSettleForward : SendStep::kSettleBack;
  for (int i = 0; i < count; ++i) {
    const HomeCopy& home = read.copies[forward ? i : count - 1 - i];
    if (Planted(PlantedBug::kSettleSkipsEqual) && Shows(home, *settlement)) {
      continue;
    }
    CasResult result;
    if (home.kind == HomeCopy::Kind::kPlain && !settlement->manifest) {
      result = co_await CasPlain(step, *read.view, home);
    } else {
      const Manifest* shown = settlement->manifest.get();
      result = co_await Cas(step, *read.view, home, shown);
    }
    if (result.outcome == Outcome::kOk) {
      if (&home != &read.judge()) continue;
      settled_item_ = ReplacesOf(*read.view, home);
      settled_by_ =
          settlement->manifest ? settlement->manifest->id : ChangeId();
      continue;
    }
    if (result.outcome == Outcome::kNoMemory) {
      co_return Fail(StatusCode::kNoMemory,
                     fmt::format("{} has no memory to settle key '{}'",
                                 session_.member_name(home.member), key_));
    }
    if (!result.view_changed && !Answered(result.outcome)) {
      Status status = co_await HomeFailed(home.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    co_return std::nullopt;
  }
  co_return std::optional<Found>(std::move(settlement->manifest));
}

// One manifest write.
Task<HomeChain::CasResult> HomeChain::Cas(SendStep step, const View& view,
                                          const HomeCopy& home,
                                          const Manifest* manifest) {
  const std::string bytes = CopyFor(view, home.member, manifest);
  const iovec body{const_cast<char*>(bytes.data()), bytes.size()};
  net::Request request;
  request.exptime = manifest == nullptr
                        ? kStubSeconds
                        : ManifestExptime(*manifest, session_.WallMicros());
  request.body = {&body, 1};
  const ChangeId id = manifest == nullptr ? ChangeId{} : manifest->id;
  co_return co_await CasItem(step, view, home, id, request);
}

// Writes what `request` has as body, flags and time in place of the copy. A
// lost reply is asked for again by sending the same cas over a new connection
// to the same server process: whichever of the two comes second is refused by
// the token, so both are harmless once the second was answered.
Task<HomeChain::CasResult> HomeChain::CasItem(SendStep step, const View& view,
                                              const HomeCopy& home,
                                              const ChangeId& id,
                                              net::Request& request) {
  CasResult result;
  // Where servers take their time, the lease would run out between two homes;
  // without it nothing is admitted.
  (void)co_await EnsureLease(session_);
  ViewKeeper& keeper = session_.cluster().keeper;
  const Lease& lease = session_.cluster().lease;
  bool admitted = keeper.BeginWrite(view.epoch, home.member);
  if (admitted && !lease.Holds(session_.runtime().Now())) {
    keeper.EndWrite(home.member);
    admitted = false;
  }
  if (!admitted) {
    // It may wait for other processes: nothing to do until it is over.
    co_await AwaitChange(session_);
    result.view_changed = true;
    co_return result;
  }
  request.verb =
      Planted(PlantedBug::kCommitBySet) ? net::Verb::kSet : net::Verb::kCas;
  request.key = item_key_;
  request.token = home.token;
  request.only_connection = home.connection;
  TellManifestWrite(view.epoch, home.member, item_key_, home.token, id);
  Batch batch(session_.runtime());
  batch.Send(step, session_.link(home.member), request);
  co_await batch;
  bool lost = request.outcome == Outcome::kLost;
  for (int i = 0; i < kReadTries && lost; ++i) {
    if (session_.link(home.member).state() == net::ServerLink::State::kFailed ||
        !lease.Holds(session_.runtime().Now())) {
      break;
    }
    result.resent = true;
    request.only_connection = 0;
    request.only_boot = home.boot_mark;
    batch.Send(SendStep::kRepeatCas, session_.link(home.member), request);
    co_await batch;
    if (EndsBoth(request.outcome)) lost = false;
  }
  if (lost) {
    request.outcome = Outcome::kLost;
    const std::optional<ViewKeeper::Strand> strand =
        keeper.StrandWrite(view.epoch, home.member);
    if (strand) {
      RescueLater(session_, view.epoch, *strand, request, home.boot_mark);
    }
  } else {
    keeper.EndWrite(home.member);
  }
  result.outcome = request.outcome;
  result.error = request.value;
  if (result.outcome == Outcome::kNoMemory) {
    session_.cluster().needs.NoteShortage();
  }
  co_return result;
}

Task<CommitResult> HomeChain::Commit(const HomesRead& base, Manifest next) {
  const InStep step(steps_, Step::kCommit);
  next.history = HistoryAfter(base.judge().manifest.get());
  next.replaces = ReplacesOf(*base.view, base.judge());
  next.ends_plain = std::any_of(
      base.copies.begin(), base.copies.end(),
      [](const HomeCopy& copy) { return copy.kind == HomeCopy::Kind::kPlain; });
  next.key = key_;
  for (std::size_t i = 0; i < base.copies.size(); ++i) {
    const HomeCopy& home = base.copies[i];
    const bool judge = i + 1 == base.copies.size();
    if (judge && i > 0 && Planted(PlantedBug::kAckBeforeJudge)) break;
    const SendStep write =
        judge ? SendStep::kCommitJudge : SendStep::kCommitHome;
    const CasResult result = co_await Cas(write, *base.view, home, &next);
    if (result.outcome == Outcome::kOk) continue;
    const bool by_view = result.view_changed || !Answered(result.outcome);
    // Refused at the first home at once, nothing of this change is anywhere.
    const bool untouched =
        i == 0 && !result.resent &&
        (result.view_changed || result.outcome != Outcome::kLost);
    if (!untouched) co_return co_await Resolve(base, next, home, result);
    if (result.outcome == Outcome::kNoMemory ||
        result.outcome == Outcome::kTooLarge) {
      co_return CommitResult{
          CommitFate::kNotHappened,
          Status(result.outcome == Outcome::kNoMemory ? StatusCode::kNoMemory
                                                      : StatusCode::kTooLarge,
                 fmt::format("{} has no room for the manifest: {}",
                             session_.member_name(home.member), result.error))};
    }
    if (!result.view_changed && by_view) {
      Status status = co_await HomeFailed(home.member);
      if (!status.ok()) {
        co_return CommitResult{CommitFate::kNotHappened, std::move(status)};
      }
    }
    co_return CommitResult{CommitFate::kNotHappened, Status(), by_view};
  }
  co_return CommitResult{CommitFate::kCommitted, Status()};
}

// Has the home still the very item that a lost write was to replace?
bool HomeChain::MayLand(const HomeCopy& home, const CasResult& failed,
                        const HomesRead& now) {
  if (failed.view_changed || Answered(failed.outcome)) return false;
  return std::any_of(
      now.copies.begin(), now.copies.end(), [&home](const HomeCopy& copy) {
        return copy.member == home.member && copy.boot_mark == home.boot_mark &&
               copy.token == home.token;
      });
}

// A commit that stopped half way: settle, then see what came of it.
Task<CommitResult> HomeChain::Resolve(const HomesRead& base,
                                      const Manifest& next,
                                      const HomeCopy& home,
                                      const CasResult& failed) {
  const auto unknown = [this](const std::string& why) {
    return CommitResult{
        CommitFate::kUnknown,
        Status(StatusCode::kOutcomeUnknown,
               fmt::format("the change of key '{}' was cut off: it is the old "
                           "or the new value, whole ({})",
                           key_, why))};
  };
  settled_item_ = {};
  Result<HomesRead> settled = co_await Settle();
  // What was lost must not land any more once this change counts as not
  // happened: the item gets another token.
  while (settled && MayLand(home, failed, *settled)) {
    if (Expired()) co_return unknown("a server did not answer in time");
    const Result<std::optional<Found>> written = co_await SettleOnce(*settled);
    if (!written) co_return unknown(written.error().message());
    settled = co_await Settle();
  }
  if (!settled) co_return unknown(settled.error().message());
  const HomeCopy& judge = settled->judge();
  CommitResult result{CommitFate::kNotHappened, Status()};
  result.by_view = failed.view_changed || !Answered(failed.outcome);
  if (failed.outcome == Outcome::kNoMemory) {
    result.status = Status(StatusCode::kNoMemory,
                           "a server has no memory for the manifest");
  }
  if (judge.manifest) {
    const std::optional<bool> happened =
        Happened(next.id, base.judge().manifest.get(), *judge.manifest);
    if (happened && *happened) {
      co_return CommitResult{CommitFate::kCommitted, Status()};
    }
    if (happened) co_return result;
  }
  // Where there was no object before, ids cannot tell; the judge's item can:
  // only one change can have replaced it.
  const bool same_item = judge.member == next.replaces.member &&
                         settled->view->members[judge.member].incarnation ==
                             next.replaces.incarnation;
  if (same_item && judge.token == next.replaces.token) co_return result;
  // It had it until this very settling replaced it by something else.
  if (settled_item_ == next.replaces && settled_by_ != next.id) {
    co_return result;
  }
  if (judge.manifest && judge.manifest->replaces == next.replaces) {
    co_return result;
  }
  co_return unknown("others changed it meanwhile");
}

}  // namespace ers::store
