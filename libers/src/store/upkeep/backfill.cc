#include "store/upkeep/backfill.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/ensure_lease.h"
#include "store/membership/loss_round.h"
#include "store/membership/member_records.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_loader.h"
#include "store/membership/view_records.h"
#include "store/repair/key_walk.h"
#include "store/repair/repair.h"
#include "store/support/bounded_memory.h"

namespace ers::store {
namespace {

using net::Task;

// A server that evicts as fast as it is backfilled is never in sync.
constexpr int kMaxPasses = 10;

// A walk that restored blocks of more than one object in so many is not the
// last. Not of any: in a busy cluster some object is always overtaken by a
// change between two reads of it, and changes see to their blocks themselves.
constexpr std::uint64_t kRestoredOnce = 100;

// Of the servers, at each call of MissRestarted: so many, and one in so many.
constexpr int kCallAtLeast = 1;
constexpr int kCallOneIn = 8;

// What cannot be read any more is no reason to keep a member out.
bool IsLost(const Status& status) {
  return status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kCorruption;
}

// Nor is what does not fit a reason to leave others without their blocks.
bool IsRefused(const Status& status) {
  return status.code() == StatusCode::kNoMemory ||
         status.code() == StatusCode::kTooLarge;
}

// A plain client's item, or one that an export has made, is whole as it is, and
// what two keys share belongs to none.
bool IsNoObject(const Status& status) {
  return status.code() == StatusCode::kNotManaged ||
         status.code() == StatusCode::kConflict;
}

// One walk over all objects: each is decoded once for all members.
class Pass {
 public:
  Pass(Session& session, const std::vector<int>& members,
       const BackfillTerms& terms, std::uint64_t walk)
      : session_(session),
        terms_(terms),
        memory_(session.runtime(), terms.block_bytes) {
    repair_.find = LackingOn(session, members);
    repair_.pace = terms.pace;
    repair_.memory = &memory_;
    repair_.stop = terms.stop;
    repair_.steps = terms.steps;
    // More than f have lost their memory: no read is to fail with an error for
    // what is gone for good, some day when others are silent.
    const std::shared_ptr<const View> view = session.view();
    repair_.ends_lost =
        Planted(PlantedBug::kEndsUnreadable) ||
        std::any_of(members.begin(), members.end(), [&view](int member) {
          return view->members[static_cast<std::size_t>(member)].lacking;
        });
    progress_.walk = walk;
    progress_.members = members;
    progress_.begun = session.runtime().Now();
  }

  Task<Status> Run() {
    ListTerms list;
    list.stop = terms_.stop;
    KeyWalk walk(session_, list, terms_.slice_keys);
    while (status_.ok() && !Stopped()) {
      const Result<bool> slice = co_await walk.NextSlice(session_.view());
      if (!slice) co_return slice.error();
      if (!*slice) break;
      net::Latch latch(session_.runtime(), terms_.parallel);
      for (int i = 0; i < terms_.parallel; ++i) net::Spawn(Work(walk, latch));
      co_await latch;
    }
    if (status_.ok() && Stopped()) {
      status_ = Status(StatusCode::kUnavailable, "the backfilling was stopped");
    }
    if (status_.ok() && refused_ > 0) {
      status_ =
          Status(refusal_.code(), fmt::format("objects that do not fit: {}; {}",
                                              refused_, refusal_.message()));
    }
    co_return std::move(status_);
  }

  [[nodiscard]] const BackfillReport& report() const { return report_; }
  // Of those that are lost, how many the next walk does not find any more.
  [[nodiscard]] std::uint64_t ended() const { return ended_; }
  // Whether all was there, nearly.
  [[nodiscard]] bool clean() const {
    return restored_ * kRestoredOnce <= progress_.objects;
  }

 private:
  bool Stopped() const {
    return terms_.stop != nullptr && terms_.stop->stopped();
  }

  Task<void> Work(KeyWalk& walk, net::Latch& latch) {
    while (!walk.empty() && status_.ok() && !Stopped()) {
      const WalkedItem item = walk.Take();
      const Result<std::string> key = co_await KeyOfItem(session_, item);
      // Passed over, it would be lacking for good.
      if (!key && status_.ok()) status_ = key.error();
      if (key && !key->empty()) co_await Repair(*key);
      ++progress_.objects;
      progress_.total = walk.total();
      if (terms_.progress) terms_.progress(progress_);
    }
    latch.CountDown();
  }

  Task<void> Repair(const std::string& key) {
    const Result<RepairedObject> repaired =
        co_await RepairObject(session_, key, repair_);
    BackfillCounters ignored;
    BackfillCounters& counters =
        terms_.counters != nullptr ? *terms_.counters : ignored;
    if (!repaired && IsNoObject(repaired.error())) co_return;
    if (!repaired && IsLost(repaired.error())) {
      ++report_.lost;
      const bool gone = repaired.error().code() == StatusCode::kNotFound;
      if (repair_.ends_lost && gone) ++ended_;
      counters.lost.Add();
    } else if (!repaired && IsRefused(repaired.error())) {
      if (refused_++ == 0) refusal_ = repaired.error();
    } else if (!repaired) {
      if (status_.ok()) status_ = repaired.error();
    } else if (repaired->reconciled || repaired->blocks > 0) {
      const auto blocks = static_cast<std::uint64_t>(repaired->blocks);
      ++report_.objects;
      report_.blocks += blocks;
      if (blocks > 0) ++restored_;
      counters.repaired.Add();
      counters.blocks.Add(blocks);
      counters.bytes_read.Add(repaired->traffic.bytes_read);
      counters.bytes_written.Add(repaired->traffic.bytes_written);
    }
  }

  Session& session_;
  const BackfillTerms& terms_;
  BoundedMemory memory_;
  RepairTerms repair_;
  BackfillProgress progress_;
  BackfillReport report_;
  std::uint64_t ended_ = 0;
  std::uint64_t restored_ = 0;  // objects that lacked blocks
  std::uint64_t refused_ = 0;   // objects that do not fit
  Status refusal_;              // of the first
  Status status_;
};

// This loop's link was refused until now, and is tried again. Where it is
// refused still, the member came back once more.
Task<Status> AwaitLink(Session& session, int member) {
  net::Request ask;
  ask.verb = net::Verb::kHead;
  ask.key = kViewKey;
  ask.no_bump = true;
  Batch batch(session.runtime());
  batch.Send(SendStep::kAskBackfilling, session.link(member), ask);
  co_await batch;
  if (net::Answered(ask.outcome)) co_return Status();
  Status status(StatusCode::kUnavailable, session.Describe(member));
  (void)co_await MarkDown(session, member, session.link(member).last_error());
  co_return status;
}

// Those that are being backfilled, and since which incarnation.
using Backfilling = std::map<int, std::uint64_t>;

// A server that must wait is named once. It need not where another one is
// missing, too.
MayReturn RuleOf(Session& session, DampedReturns* damped) {
  if (damped == nullptr) return {};
  return [&session, damped](int member, const std::string& boot_mark) {
    const net::Duration wait =
        damped->Wait(member, boot_mark, session.runtime().Now());
    if (wait == net::Duration() || AnotherIsMissing(session, member)) {
      return Status();
    }
    std::string text = fmt::format(
        "{} answers again, and stays out for {} s more: it has come back {} "
        "times within an hour with the memory that it left with",
        session.member_name(member),
        std::chrono::ceil<std::chrono::seconds>(wait).count(),
        damped->Returns(member));
    if (damped->TakeNews(member)) {
      session.cluster().Log(LogLevel::kWarning, text);
    }
    return Status(StatusCode::kUnavailable, std::move(text));
  };
}

// Where another one is missing, too, any server is better than none.
Task<Status> MayComeBack(Session& session, int member,
                         const BackfillTerms& terms) {
  const bool down = session.view()->members[member].state == MemberState::kDown;
  if (!down || terms.slow == nullptr) co_return Status();
  co_return co_await TestReturn(session, member, *terms.slow);
}

// Takes up those of `members` that can be: OK where there are any, or none is
// to be backfilled. `backfilling` gets those that it has not yet, and anew
// those that have left since, also if they came back.
Task<Status> TakeUp(Session& session, const std::vector<int>& members,
                    const BackfillTerms& terms, Backfilling& backfilling) {
  const std::shared_ptr<const View> view = session.view();
  DampedReturns* const damped = terms.damped;
  if (damped != nullptr) damped->Note(*view, session.runtime().Now());
  std::erase_if(backfilling, [&view](const auto& one) {
    const Member& is = view->members[one.first];
    return is.state == MemberState::kDown || is.incarnation != one.second;
  });
  Status failed;
  for (const int member : members) {
    const bool in_sync = session.view()->members[member].InSync();
    if (in_sync || backfilling.contains(member)) continue;
    Status status = co_await MayComeBack(session, member, terms);
    if (status.ok()) {
      status = co_await BeginBackfill(session, member, RuleOf(session, damped));
    }
    if (status.ok()) status = co_await AwaitLink(session, member);
    if (status.ok()) {
      backfilling[member] = session.view()->members[member].incarnation;
    } else if (failed.ok()) {
      failed = std::move(status);
    }
  }
  co_return backfilling.empty() ? failed : Status();
}

std::vector<int> MembersOf(const Backfilling& backfilling) {
  std::vector<int> members;
  for (const auto& [member, incarnation] : backfilling)
    members.push_back(member);
  return members;
}

// All are in sync now, but for those that have left meanwhile: OK where any is.
Task<Status> EndAll(Session& session, const Backfilling& backfilling,
                    BackfillReport& report) {
  Status failed;
  for (const auto& [member, incarnation] : backfilling) {
    Status status = co_await EndBackfill(session, member, incarnation);
    if (status.ok()) {
      report.members.push_back(member);
    } else {
      failed = std::move(status);
    }
  }
  co_return report.members.empty() ? failed : Status();
}

std::vector<int> AllMembers(const Session& session) {
  std::vector<int> members;
  for (int i = 0; i < session.members(); ++i) members.push_back(i);
  return members;
}

// A read of what a server must not evict, which else no call reads for long.
struct Call {
  int member = 0;
  // Also where the server does not answer.
  bool shows_the_view = true;
  std::optional<net::Duration> took;
};

Task<void> Make(Call& call, Session& session, const View& view,
                net::Latch& latch) {
  const net::TimePoint begun = session.runtime().Now();
  net::Request mark;
  mark.verb = net::Verb::kHead;
  mark.key = kBootKey;
  const MemberRecords records = co_await ReadRecords(
      session, session.link(call.member), 0, &mark, SendStep::kProbeRound);
  if (records.connection != 0) {
    call.took = session.runtime().Now() - begun;
    const Member& member = view.members[static_cast<std::size_t>(call.member)];
    call.shows_the_view =
        member.state == MemberState::kDown || records.view.epoch >= view.epoch;
  }
  latch.CountDown();
}

// At a few servers each time, so that none is left out for longer than a few
// seconds. And at those that are slow.
std::vector<Call> NextCalls(Session& session, const SlowServers* slow) {
  const int members = session.members();
  const int some = std::min(members, kCallAtLeast + members / kCallOneIn);
  const std::size_t first =
      session.cluster().calls.fetch_add(static_cast<std::size_t>(some)) %
      static_cast<std::size_t>(members);
  std::vector<Call> calls;
  for (int i = 0; i < members; ++i) {
    const int member = (static_cast<int>(first) + i) % members;
    if (i < some || (slow != nullptr && slow->IsSuspect(member))) {
      calls.emplace_back().member = member;
    }
  }
  return calls;
}

// True where all that answer have the view still, or a newer one.
Task<bool> MakeAll(Session& session, std::vector<Call>& calls) {
  const std::shared_ptr<const View> view = session.view();
  net::Latch latch(session.runtime(), static_cast<int>(calls.size()));
  for (Call& call : calls) net::Spawn(Make(call, session, *view, latch));
  co_await latch;
  co_return std::all_of(calls.begin(), calls.end(),
                        [](const Call& call) { return call.shows_the_view; });
}

// A busy server may have evicted it all the same. While this process holds its
// lease no process goes by a newer one.
Task<void> StoreViewAgain(Session& session) {
  const Status leave = co_await EnsureLeaseAtRest(session);
  if (!leave.ok()) co_return;
  const std::shared_ptr<const View> view = session.view();
  std::optional<View> newer;
  (void)co_await StoreViewRecord(session, *view, StoredAs::kAgain, newer);
}

}  // namespace

double BackfillProgress::SecondsLeft(net::TimePoint now) const {
  if (walk == 0 || objects == 0) return -1;
  const double spent = std::chrono::duration<double>(now - begun).count();
  return spent / static_cast<double>(objects) *
         static_cast<double>(total - objects);
}

Task<void> MissRestarted(Session& session, SlowServers* slow) {
  std::vector<Call> calls = NextCalls(session, slow);
  const bool all_know_the_view = co_await MakeAll(session, calls);
  if (MoreThanMaxOut(session)) {
    (void)co_await GoOnAfterLoss(session);
    co_return;
  }
  if (!all_know_the_view) co_await StoreViewAgain(session);
  for (int i = 0; i < session.members(); ++i) {
    // The view first: a member that is back in it is no longer refused.
    const MemberState state = session.view()->members[i].state;
    const bool refused =
        session.link(i).state() == net::ServerLink::State::kRefused;
    if (refused && state != MemberState::kDown) {
      (void)co_await MarkDown(session, i, session.link(i).last_error());
    }
  }
  if (slow == nullptr) co_return;
  std::vector<int> called;
  for (const Call& call : calls) {
    slow->NoteTime(call.member, call.took);
    called.push_back(call.member);
  }
  co_await LeaveSlow(session, called, *slow);
}

Task<Result<BackfillReport>> Backfill(Session& session,
                                      std::vector<int> members,
                                      const BackfillTerms& terms) {
  Status status = co_await EnsureView(session);
  if (!status.ok()) co_return Fail(std::move(status));
  if (members.empty()) members = AllMembers(session);
  BackfillReport all;
  std::uint64_t ended = 0;
  Backfilling backfilling;
  for (int i = 1; i <= kMaxPasses; ++i) {
    // Also those that have come back in the midst of the walk before.
    status = co_await TakeUp(session, members, terms, backfilling);
    if (!status.ok()) co_return Fail(std::move(status));
    if (backfilling.empty()) co_return all;
    const std::vector<int> now = MembersOf(backfilling);
    Pass pass(session, now, terms, static_cast<std::uint64_t>(i));
    if (!Planted(PlantedBug::kInSyncAtOnce)) status = co_await pass.Run();
    if (terms.progress) terms.progress({});
    if (!status.ok()) co_return Fail(std::move(status));
    all.objects += pass.report().objects;
    all.blocks += pass.report().blocks;
    all.lost = ended + pass.report().lost;
    ended += pass.ended();
    if (!pass.clean()) continue;
    status = co_await EndAll(session, backfilling, all);
    if (!status.ok()) co_return Fail(std::move(status));
    co_return all;
  }
  std::string names;
  for (const auto& [member, incarnation] : backfilling) {
    names += (names.empty() ? "" : ", ") + session.member_name(member);
  }
  co_return Fail(StatusCode::kUnavailable,
                 fmt::format("{} lose what they are backfilled with: give them "
                             "more memory (-m)",
                             names));
}

}  // namespace ers::store
