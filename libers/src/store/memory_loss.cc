#include "store/memory_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/micros.h"
#include "store/batch.h"
#include "store/keys.h"
#include "store/planted_bug.h"
#include "store/record.h"
#include "store/seats.h"
#include "store/session.h"
#include "store/view_changer.h"
#include "store/view_checks.h"
#include "store/view_edit.h"

namespace ers::store {
namespace {

using net::Task;

// All servers are asked, over new connections: not at each request.
constexpr net::Duration kLookEvery = std::chrono::milliseconds(200);

bool IsOut(const Member& member, const ServerMemory& memory) {
  return member.state != MemberState::kFull ||
         memory.boot_mark != member.boot_mark;
}

// Of the server's process: of a boot mark all but what marks its memory, which
// somebody may have emptied.
std::string_view LifeOf(std::string_view boot_mark) {
  return boot_mark.substr(0, boot_mark.rfind('/'));
}

// "a, b, c and 4 more".
std::string Names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() <= kMost) return text;
  return fmt::format("{} and {} more", text, names.size() - kMost);
}

// Who stands in the way, and what to do.
Status SomeSilent(const View& base, const std::vector<ServerMemory>& memories) {
  std::vector<std::string> silent;
  std::vector<std::string> lost;
  std::string why;
  int out = 0;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const Member& member = base.members[i];
    if (!IsOut(member, memories[i])) continue;
    ++out;
    if (memories[i].boot_mark.empty()) {
      silent.push_back(member.server());
      if (why.empty()) why = memories[i].error;
    } else if (memories[i].boot_mark != member.boot_mark) {
      lost.push_back(member.server());
    }
  }
  const std::string gone =
      lost.empty() ? ""
                   : fmt::format("{} lost {} memory; ", Names(lost),
                                 lost.size() == 1 ? "its" : "their");
  const bool one = silent.size() == 1;
  return {StatusCode::kUnavailable,
          fmt::format(
              "{} servers are out, and this cluster bears {}: {}{} {} not "
              "answer ({}): start {}, with or without {} memory",
              out, base.max_parity, gone, Names(silent), one ? "does" : "do",
              why, one ? "it" : "them", one ? "its" : "their")};
}

// Taken in as it is: whatever its manifests say is void.
void TakeIn(Member& member, const std::string& boot_mark, std::uint64_t epoch,
            std::int64_t now_us) {
  member.state = MemberState::kFull;
  member.incarnation =
      std::max(member.incarnation + 1, static_cast<std::uint64_t>(now_us));
  member.joined = epoch;
  member.boot_mark = boot_mark;
  member.since = now_us / kMicrosPerSecond;
}

}  // namespace

Result<View> AfterLoss(const View& base,
                       const std::vector<ServerMemory>& memories,
                       std::int64_t now_us) {
  int out = 0;
  bool silent = false;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (!IsOut(base.members[i], memories[i])) continue;
    ++out;
    silent |= memories[i].boot_mark.empty();
  }
  if (out <= base.max_parity) return base;
  if (silent) return Fail(SomeSilent(base, memories));
  const int kept = static_cast<int>(memories.size()) - out;
  const bool proven =
      kept > base.max_parity || Planted(PlantedBug::kTrustsFewAfterLoss);
  View next = base;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    Member& member = next.members[i];
    const bool stays = proven && !IsOut(member, memories[i]);
    if (stays) continue;
    TakeIn(member, memories[i].boot_mark, base.epoch + 1, now_us);
    // Where all is void there is nothing to fill it with.
    member.lacking = proven;
  }
  Status distinct = CheckDistinct(next);
  if (!distinct.ok()) return Fail(std::move(distinct));
  return next;
}

net::TimePoint LostBy(const View& base,
                      const std::vector<ServerMemory>& memories,
                      net::TimePoint seen) {
  std::optional<net::TimePoint> last;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const std::string& before = base.members[i].boot_mark;
    const std::string& now = memories[i].boot_mark;
    if (before == now) continue;
    const bool restarted = !before.empty() && LifeOf(before) != LifeOf(now);
    const net::TimePoint lost = restarted ? memories[i].began : seen;
    last = std::max(lost, last.value_or(lost));
  }
  return std::min(seen, last.value_or(seen));
}

net::TimePoint LossWatch::Saw(const std::vector<ServerMemory>& memories,
                              net::TimePoint now) {
  std::vector<std::string> marks;
  for (const ServerMemory& memory : memories) marks.push_back(memory.boot_mark);
  const std::lock_guard lock(mutex_);
  if (marks != marks_) {
    marks_ = std::move(marks);
    since_ = now;
  }
  return since_;
}

bool LossWatch::IsDue(net::TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (now < next_look_) return false;
  next_look_ = now + kLookEvery;
  return true;
}

Status LossWatch::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void LossWatch::SetLast(const Status& status) {
  const std::lock_guard lock(mutex_);
  last_ = status;
}

bool MoreThanMaxOut(Session& session) {
  const std::shared_ptr<const View> view = session.view();
  int out = 0;
  for (int i = 0; i < session.members(); ++i) {
    const net::ServerLink::State state = session.link(i).state();
    const bool dead = state == net::ServerLink::State::kRefused ||
                      state == net::ServerLink::State::kFailed;
    if (dead || view->members[i].state != MemberState::kFull) ++out;
  }
  return out > view->max_parity;
}

namespace {

// What all servers answer with, and the newest view that any of them knows.
struct Look {
  std::vector<ServerMemory> memories;
  std::optional<View> newest;
  Status newer_format;  // of a record that a server has
};

Task<void> LookAt(Session& session, int member, net::Endpoint server,
                  Look& look, net::Latch& latch) {
  const std::unique_ptr<net::ServerLink> link =
      session.NewStrangerLink(member, server);
  net::Request ask;
  ask.verb = net::Verb::kGet;
  ask.key = kViewKey;
  ask.uncounted = true;
  Batch batch(session.runtime());
  batch.Send(SendStep::kAskMark, *link, ask);
  co_await batch;
  ServerMemory& memory = look.memories[static_cast<std::size_t>(member)];
  if (net::Answered(ask.outcome)) {
    memory.boot_mark = link->facts().boot_mark;
    const std::chrono::seconds up(link->facts().up_seconds);
    memory.began = session.runtime().Now() - up + std::chrono::seconds(1);
  }
  memory.error = link->last_error().empty() ? "no answer" : link->last_error();
  Result<View> there = DecodeView(ask.value);
  if (there && (!look.newest || look.newest->epoch < there->epoch)) {
    look.newest = std::move(*there);
  } else if (IsNewerFormat(there)) {
    look.newer_format = NewerFormat(*link, there.error());
  }
  latch.CountDown();
}

// At the servers that have the members' seats in `view`.
Task<void> LookAtAll(Session& session, std::shared_ptr<const View> view,
                     Look& look) {
  look.memories.assign(view->members.size(), {});
  net::Latch latch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    latch.Add();
    const Member& member = view->members[static_cast<std::size_t>(i)];
    net::Spawn(LookAt(session, i, EndpointOf(member), look, latch));
  }
  co_await latch;
}

bool SameServers(const View& one, const View& other) {
  return std::equal(one.members.begin(), one.members.end(),
                    other.members.begin(), other.members.end(),
                    [](const Member& a, const Member& b) {
                      return a.server() == b.server();
                    });
}

// Where a newer view has servers elsewhere, there.
Task<Look> LookRound(Session& session) {
  Look look;
  std::shared_ptr<const View> view = session.cluster().keeper.Newest();
  for (;;) {
    co_await LookAtAll(session, view, look);
    const bool elsewhere = look.newest && look.newest->epoch > view->epoch &&
                           SameSeats(*look.newest, *view) &&
                           !SameServers(*look.newest, *view);
    if (!elsewhere) co_return look;
    view = std::make_shared<const View>(*look.newest);
  }
}

bool AnyKept(const View& view, const std::vector<ServerMemory>& memories) {
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (!IsOut(view.members[i], memories[i])) return true;
  }
  return false;
}

// The lease of a process that this one does not know of was renewed on those
// that have lost their memory since; it may still read what others hold.
Status WaitForLeases(const View& view, const Look& look, net::TimePoint since,
                     net::TimePoint now) {
  const net::Duration left = since + kGoneAfter - now;
  if (left <= net::Duration{} || !AnyKept(view, look.memories)) return {};
  if (Planted(PlantedBug::kNoWaitAfterLoss)) return {};
  return {StatusCode::kUnavailable,
          fmt::format("more than {} servers have lost their memory: in {} s "
                      "the others go on without it",
                      view.max_parity,
                      std::chrono::ceil<std::chrono::seconds>(left).count())};
}

void LogLoss(Session& session, const View& before, const View& now) {
  int gone = 0;
  int kept = 0;
  for (std::size_t i = 0; i < now.members.size(); ++i) {
    const bool same = now.members[i].boot_mark == before.members[i].boot_mark;
    ++(same ? kept : gone);
  }
  const bool void_all = now.AllInSync();
  session.cluster().Log(
      LogLevel::kError,
      fmt::format("view {}: {} of {} servers have lost their memory, more than "
                  "the {} that this cluster bears: {}; all go on",
                  now.epoch, gone, gone + kept, now.max_parity,
                  void_all ? "all values are gone"
                           : "values that were on too many of them are gone"));
}

// What to do about it, given the newest view that is known.
struct Plan {
  View newest;
  bool loses = false;  // more is out than that view bears
};

Result<Plan> MakePlan(Session& session, const Look& look) {
  Plan plan{*session.cluster().keeper.Newest()};
  if (look.newest && look.newest->epoch > plan.newest.epoch) {
    Status fits = CheckMembers(session, session.cluster(), *look.newest);
    if (!fits.ok()) return Fail(std::move(fits));
    plan.newest = *look.newest;
  }
  const net::TimePoint now = session.runtime().Now();
  const net::TimePoint since =
      LostBy(plan.newest, look.memories,
             session.cluster().loss.Saw(look.memories, now));
  const Result<View> next =
      AfterLoss(plan.newest, look.memories, session.WallMicros());
  if (!next) return Fail(next.error());
  plan.loses = EncodeView(*next) != EncodeView(plan.newest);
  if (plan.loses) {
    Status waited = WaitForLeases(plan.newest, look, since, now);
    if (!waited.ok()) return Fail(std::move(waited));
  }
  return plan;
}

// The connections are still to find out what the look has shown.
void RetryKept(Session& session, const View& view, const Look& look) {
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!IsOut(view.members[at], look.memories[at])) session.link(i).Retry();
  }
}

// The next view, made of one that may be newer than the plan's. Where another
// process has done it: its view as it is, unless somebody must leave.
Result<View> NextView(Session& session, const Look& look, const Plan& plan,
                      const View& base) {
  const View& newest = base.epoch < plan.newest.epoch ? plan.newest : base;
  Result<View> after = AfterLoss(newest, look.memories, session.WallMicros());
  if (!after) return after;
  const bool same = EncodeView(*after) == EncodeView(newest);
  Result<View> next = Without(session, std::move(*after), {});
  if (!next || !same) return next;
  View as_it_is = *next;
  as_it_is.epoch = newest.epoch;
  if (EncodeView(as_it_is) == EncodeView(newest)) return as_it_is;
  return next;
}

Task<Status> Act(Session& session, const Look& look) {
  const std::shared_ptr<const View> before = session.view();
  const Result<Plan> plan = MakePlan(session, look);
  const bool nothing =
      plan && !plan->loses && plan->newest.epoch == before->epoch;
  if (!plan || nothing) {
    if (nothing) RetryKept(session, *before, look);
    session.cluster().keeper.EndChange(nullptr);
    co_return plan ? Status() : plan.error();
  }
  const Edit edit = [&](const View& base) {
    return NextView(session, look, *plan, base);
  };
  std::vector<int> leaving;
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!IsOut(before->members[at], look.memories[at])) continue;
    session.link(i).Abort("more than M are out");
    leaving.push_back(i);
  }
  Status status = co_await ChangeAll(session, edit, std::move(leaving));
  if (status.ok() && plan->loses) {
    LogLoss(session, plan->newest, *session.view());
  }
  co_return status;
}

}  // namespace

Task<Status> GoOnAfterLoss(Session& session) {
  LossWatch& loss = session.cluster().loss;
  if (!loss.IsDue(session.runtime().Now())) {
    const Status last = loss.last();
    if (!last.ok() || !MoreThanMaxOut(session)) co_return last;
    co_return Status(StatusCode::kUnavailable,
                     "servers are out: they are being looked at, try again");
  }
  const Look look = co_await LookRound(session);
  if (!look.newer_format.ok()) co_return look.newer_format;
  co_await ClaimChange(session);
  Status status = co_await Act(session, look);
  loss.SetLast(status);
  co_return status;
}

}  // namespace ers::store
