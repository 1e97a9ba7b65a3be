#include "store/home_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/batch.h"
#include "store/expiry.h"
#include "store/keys.h"
#include "store/planted_bug.h"
#include "store/view_changer.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

constexpr std::int64_t kStubSeconds = 60;

Replaces ReplacesOf(const View& view, const HomeCopy& judge) {
  return {static_cast<std::uint16_t>(judge.member),
          view.members[judge.member].incarnation, judge.token};
}

// The copy for one home; an empty item where nothing is to be there.
std::string CopyFor(const View& view, int member, const Manifest* manifest) {
  if (manifest == nullptr) return {};
  Manifest copy = *manifest;
  copy.member = static_cast<std::uint16_t>(member);
  copy.incarnation = view.members[member].incarnation;
  return EncodeManifest(copy);
}

// Does it put blocks on members that the view does not have?
bool NamesStrangers(const Manifest& manifest, const View& view) {
  return std::any_of(
      manifest.nodes.begin(), manifest.nodes.end(),
      [&view](std::uint16_t node) { return node >= view.members.size(); });
}

// What settling writes everywhere, first to last or last to first.
struct Settlement {
  std::shared_ptr<const Manifest> manifest;  // null: absent
  bool forward = false;
};

bool Shows(const HomeCopy& home, const Settlement& settlement) {
  return home.shown() ==
         (settlement.manifest ? settlement.manifest->id : ChangeId{});
}

// The one pending change is finished; any other picture goes back to what the
// judge shows. A judge's copy that fails its checksum is as good as lost: then
// the other homes stand in, if they agree.
Result<Settlement> ChooseSettlement(const HomesRead& read,
                                    const std::string& key) {
  const HomeCopy& judge = read.judge();
  const HomeCopy& first = read.copies.front();
  if (first.manifest &&
      first.manifest->replaces == ReplacesOf(*read.view, judge)) {
    const bool only_one_pending = std::all_of(
        read.copies.begin(), read.copies.end(), [&](const HomeCopy& copy) {
          return copy.kind != HomeCopy::Kind::kCorrupt &&
                 (copy.shown() == first.shown() ||
                  copy.shown() == judge.shown());
        });
    if (only_one_pending || judge.kind == HomeCopy::Kind::kCorrupt) {
      return Settlement{first.manifest, true};
    }
  }
  if (judge.kind != HomeCopy::Kind::kCorrupt) {
    return Settlement{judge.manifest, false};
  }
  const HomeCopy* stand_in = nullptr;
  for (const HomeCopy& copy : read.copies) {
    if (copy.kind == HomeCopy::Kind::kCorrupt) continue;
    if (stand_in != nullptr && stand_in->shown() != copy.shown()) {
      stand_in = nullptr;
      break;
    }
    stand_in = &copy;
  }
  if (stand_in == nullptr || !stand_in->manifest) {
    return Fail(StatusCode::kCorruption,
                fmt::format("key '{}': the manifest is corrupted and no other "
                            "copy can stand in; delete or overwrite the object",
                            key));
  }
  return Settlement{stand_in->manifest, false};
}

}  // namespace

// Plain clients' items may be empty, too.
bool IsStub(const net::Request& read) {
  return read.value.empty() && read.item_flags == 0 && read.item_ttl >= 0 &&
         read.item_ttl <= kStubSeconds;
}

bool HomesRead::Agreed() const {
  return std::all_of(copies.begin(), copies.end(), [this](const HomeCopy& c) {
    return c.kind != HomeCopy::Kind::kCorrupt && c.shown() == judge().shown();
  });
}

// A home did not answer: it leaves the view, unless its connection only broke
// and is being made again.
Task<Status> HomeChain::HomeFailed(int member) {
  const net::ServerLink& link = session_.link(member);
  const net::ServerLink::State state = link.state();
  if (state == net::ServerLink::State::kConnecting ||
      state == net::ServerLink::State::kUp) {
    return Task<Status>::Ready();
  }
  return MarkDown(session_, member, link.last_error());
}

HomeChain::HomeChain(Session& session, std::string_view key, StepTimer* steps)
    : session_(session), steps_(steps), key_(key), item_key_(ManifestKey(key)) {
  RestartDeadline();
}

void HomeChain::RestartDeadline() {
  deadline_ =
      session_.runtime().Now() + session_.cluster().options.operation_timeout;
}

bool HomeChain::Alive(const Manifest& manifest) const {
  const std::int64_t now = session_.runtime().WallMicros();
  return !manifest.tombstone && !IsExpired(manifest.expiry, now) &&
         !session_.view()->IsFlushed(manifest.id.time_us, now);
}

bool HomeChain::Expired() const {
  return session_.runtime().Now() >= deadline_;
}

Result<Homes> HomeChain::CurrentHomes(const View& view) const {
  Homes homes = HomesOf(view, session_.cluster().ring, key_);
  if (!homes.judge_is_full) {
    return Fail(StatusCode::kUnavailable,
                "every server that holds this key's manifest is out: bring "
                "one back");
  }
  return homes;
}

// What a reply to a read of this key's item says. Fails where the item is not
// a manifest of this key or cannot be understood: nothing may touch it then.
Result<HomeCopy> HomeChain::Interpret(const View& view, int member,
                                      const net::Request& request) const {
  HomeCopy copy;
  copy.member = member;
  copy.token = request.item_token;
  copy.connection = request.connection;
  copy.boot_mark = view.members[member].boot_mark;
  if (request.outcome == Outcome::kMiss ||
      request.outcome == Outcome::kCreated || IsStub(request)) {
    return copy;
  }
  Result<Manifest> manifest = DecodeManifest(request.value);
  if (!manifest && manifest.error().code() == StatusCode::kCorruption) {
    copy.kind = HomeCopy::Kind::kCorrupt;
    return copy;
  }
  if (!manifest && replaces_plain_ &&
      manifest.error().code() == StatusCode::kNotManaged) {
    copy.kind = HomeCopy::Kind::kPlain;
    copy.plain = request.value;
    copy.plain_flags = request.item_flags;
    return copy;
  }
  if (!manifest) {
    return Fail(manifest.error().code(),
                fmt::format("{}: key '{}': {}", session_.member_name(member),
                            key_, manifest.error().message()));
  }
  if (manifest->key != key_) {
    return Fail(StatusCode::kConflict,
                fmt::format("key '{}' shares its hash with '{}': use another "
                            "key",
                            key_, manifest->key));
  }
  if (manifest->incarnation != view.members[member].incarnation ||
      manifest->member != member) {
    return copy;
  }
  if (NamesStrangers(*manifest, view)) {
    copy.kind = HomeCopy::Kind::kCorrupt;
    return copy;
  }
  copy.kind = HomeCopy::Kind::kManifest;
  copy.manifest = std::make_shared<const Manifest>(std::move(*manifest));
  return copy;
}

Task<Result<HomesRead>> HomeChain::Collect(bool vivify) {
  while (!Expired()) {
    HomesRead read;
    read.view = session_.view();
    Result<Homes> homes = CurrentHomes(*read.view);
    if (!homes) co_return Fail(homes.error());
    std::vector<net::Request> requests(homes->members.size());
    Batch batch(session_.runtime());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].verb = vivify ? net::Verb::kVivify : net::Verb::kGet;
      requests[i].key = item_key_;
      requests[i].exptime = kStubSeconds;
      // A read has asked the judge before, and a change is none.
      requests[i].uncounted = true;
      batch.Submit(session_.link(homes->members[i]), requests[i]);
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
  Result<HomesRead> read = co_await Collect(/*vivify=*/true);
  if (!read || read->Agreed()) co_return read;
  if (replaces_corrupted_ && !ChooseSettlement(*read, key_)) {
    found_corrupted_ = true;
    co_return read;
  }
  co_return co_await Settle();
}

Task<Result<HomesRead>> HomeChain::ReadSettled() {
  Result<HomesRead> read = co_await Collect(/*vivify=*/false);
  if (!read || read->Agreed()) co_return read;
  settled_ = true;
  co_return co_await Settle();
}

Task<Result<HomesRead>> HomeChain::Settle() {
  while (!Expired()) {
    Result<HomesRead> read = co_await Collect(/*vivify=*/true);
    if (!read || read->Agreed()) co_return read;
    Result<bool> written = co_await SettleOnce(*read);
    if (!written) co_return Fail(written.error());
  }
  co_return Fail(StatusCode::kUnavailable,
                 fmt::format("key '{}' is changed by others without end: try "
                             "again",
                             key_));
}

// One pass of writes; false where one of them met a rival or a new view.
Task<Result<bool>> HomeChain::SettleOnce(const HomesRead& read) {
  Result<Settlement> settlement = ChooseSettlement(read, key_);
  if (!settlement) co_return Fail(settlement.error());
  const int count = static_cast<int>(read.copies.size());
  const bool forward =
      settlement->forward || Planted(PlantedBug::kSettleFirstToLast);
  for (int i = 0; i < count; ++i) {
    const HomeCopy& home = read.copies[forward ? i : count - 1 - i];
    if (Planted(PlantedBug::kSettleSkipsEqual) && Shows(home, *settlement)) {
      continue;
    }
    const CasResult result =
        co_await Cas(*read.view, home, settlement->manifest.get());
    if (result.outcome == Outcome::kOk) continue;
    if (result.outcome == Outcome::kNoMemory) {
      co_return Fail(StatusCode::kNoMemory,
                     fmt::format("{} has no memory to settle key '{}'",
                                 session_.member_name(home.member), key_));
    }
    if (!result.view_changed && !Answered(result.outcome)) {
      Status status = co_await HomeFailed(home.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    co_return false;
  }
  co_return true;
}

// One manifest write.
Task<HomeChain::CasResult> HomeChain::Cas(const View& view,
                                          const HomeCopy& home,
                                          const Manifest* manifest) {
  const std::string bytes = CopyFor(view, home.member, manifest);
  const iovec body{const_cast<char*>(bytes.data()), bytes.size()};
  net::Request request;
  request.exptime =
      manifest == nullptr
          ? kStubSeconds
          : ManifestExptime(*manifest, session_.runtime().WallMicros());
  request.body = {&body, 1};
  const ChangeId id = manifest == nullptr ? ChangeId{} : manifest->id;
  co_return co_await CasItem(view, home, id, request);
}

// Writes what `request` has as body, flags and time in place of the copy. A
// lost reply is asked for again by sending the same cas over a new connection
// to the same server process: whichever of the two comes second is refused by
// the token, so both are harmless once the second was answered.
Task<HomeChain::CasResult> HomeChain::CasItem(const View& view,
                                              const HomeCopy& home,
                                              const ChangeId& id,
                                              net::Request& request) {
  CasResult result;
  ViewKeeper& keeper = session_.cluster().keeper;
  if (!keeper.BeginWrite(view.epoch, home.member)) {
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
  batch.Submit(session_.link(home.member), request);
  co_await batch;
  bool lost = request.outcome == Outcome::kLost;
  for (int i = 0; i < kReadTries && !Answered(request.outcome) && lost; ++i) {
    if (session_.link(home.member).state() == net::ServerLink::State::kFailed) {
      break;
    }
    result.resent = true;
    request.only_connection = 0;
    request.only_boot = home.boot_mark;
    batch.Submit(session_.link(home.member), request);
    co_await batch;
    if (Answered(request.outcome)) lost = false;
  }
  if (lost) {
    request.outcome = Outcome::kLost;
    keeper.StrandWrite(home.member);
  } else {
    keeper.EndWrite(home.member);
  }
  result.outcome = request.outcome;
  result.error = request.value;
  co_return result;
}

Task<CommitResult> HomeChain::Commit(const HomesRead& base, Manifest next) {
  const InStep step(steps_, Step::kCommit);
  const Manifest* before = base.judge().manifest.get();
  next.history.clear();
  if (before != nullptr) {
    next.history.push_back(before->id);
    next.history.insert(next.history.end(), before->history.begin(),
                        before->history.end());
    if (next.history.size() > kHistoryLength) {
      next.history.resize(kHistoryLength);
    }
  }
  next.replaces = ReplacesOf(*base.view, base.judge());
  next.key = key_;
  for (std::size_t i = 0; i < base.copies.size(); ++i) {
    const HomeCopy& home = base.copies[i];
    const bool judge = i + 1 == base.copies.size();
    if (judge && i > 0 && Planted(PlantedBug::kAckBeforeJudge)) break;
    const CasResult result = co_await Cas(*base.view, home, &next);
    if (result.outcome == Outcome::kOk) continue;
    // Refused at the first home at once, nothing of this change is anywhere.
    const bool untouched =
        i == 0 && !result.resent &&
        (result.view_changed || result.outcome != Outcome::kLost);
    if (!untouched) co_return co_await Resolve(base, next, result);
    if (result.outcome == Outcome::kNoMemory ||
        result.outcome == Outcome::kTooLarge) {
      co_return CommitResult{
          CommitFate::kNotHappened,
          Status(result.outcome == Outcome::kNoMemory ? StatusCode::kNoMemory
                                                      : StatusCode::kTooLarge,
                 fmt::format("{} has no room for the manifest: {}",
                             session_.member_name(home.member), result.error))};
    }
    if (!result.view_changed && !Answered(result.outcome)) {
      Status status = co_await HomeFailed(home.member);
      if (!status.ok()) {
        co_return CommitResult{CommitFate::kNotHappened, std::move(status)};
      }
    }
    co_return CommitResult{CommitFate::kNotHappened, Status()};
  }
  co_return CommitResult{CommitFate::kCommitted, Status()};
}

// A commit that stopped half way: settle, then see what came of it.
Task<CommitResult> HomeChain::Resolve(const HomesRead& base,
                                      const Manifest& next,
                                      const CasResult& failed) {
  const auto unknown = [this](const std::string& why) {
    return CommitResult{
        CommitFate::kUnknown,
        Status(StatusCode::kOutcomeUnknown,
               fmt::format("the change of key '{}' was cut off: it is the old "
                           "or the new value, whole ({})",
                           key_, why))};
  };
  Result<HomesRead> settled = co_await Settle();
  if (!settled) co_return unknown(settled.error().message());
  const HomeCopy& judge = settled->judge();
  const ChangeId base_id = base.judge().shown();
  CommitResult result{CommitFate::kNotHappened, Status()};
  if (failed.outcome == Outcome::kNoMemory) {
    result.status = Status(StatusCode::kNoMemory,
                           "a server has no memory for the manifest");
  }
  if (judge.manifest && judge.manifest->Remembers(next.id)) {
    co_return CommitResult{CommitFate::kCommitted, Status()};
  }
  if (base_id && judge.manifest && judge.manifest->Remembers(base_id)) {
    co_return result;
  }
  // Where there was no object before, ids cannot tell; the judge's item can:
  // only one change can have replaced it.
  const bool same_item = judge.member == next.replaces.member &&
                         settled->view->members[judge.member].incarnation ==
                             next.replaces.incarnation;
  if (same_item && judge.token == next.replaces.token) co_return result;
  if (judge.manifest && judge.manifest->replaces == next.replaces) {
    co_return result;
  }
  co_return unknown("others changed it meanwhile");
}

}  // namespace ers::store
