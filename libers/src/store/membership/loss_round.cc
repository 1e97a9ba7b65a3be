#include "store/membership/loss_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/format/record.h"
#include "store/membership/batch.h"
#include "store/membership/slots.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_edit.h"

namespace ers::store {
namespace {

using net::Task;

// memcached begins to count its uptime at 2, and shows whole seconds.
constexpr net::Duration kUpShownMore = std::chrono::seconds(3);

Task<void> ProbeServer(Session& session, int member, net::Endpoint server,
                       ServerProbes& probes, net::Latch& latch) {
  const std::unique_ptr<net::ServerLink> link =
      session.NewStrangerLink(member, server);
  net::Request ask;
  ask.verb = net::Verb::kGet;
  ask.key = kViewKey;
  ask.no_bump = true;
  Batch batch(session.runtime());
  batch.Send(SendStep::kAskMark, *link, ask);
  co_await batch;
  ServerMemory& memory = probes.memories[static_cast<std::size_t>(member)];
  if (net::Answered(ask.outcome)) {
    memory.boot_mark = link->facts().boot_mark;
    const std::chrono::seconds up(link->facts().up_seconds);
    memory.began = session.runtime().Now() - up + kUpShownMore;
  }
  memory.error = link->last_error().empty() ? "no answer" : link->last_error();
  Result<View> there = DecodeView(ask.value);
  if (there && (!probes.newest || probes.newest->epoch < there->epoch)) {
    probes.newest = std::move(*there);
  } else if (IsOtherFormat(there)) {
    probes.other_format = OtherFormat(*link, there.error());
  }
  latch.CountDown();
}

// At the servers that have the members' slots in `view`.
Task<void> ProbeAll(Session& session, std::shared_ptr<const View> view,
                    ServerProbes& probes) {
  probes.memories.assign(view->members.size(), {});
  net::Latch latch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    latch.Add();
    const Member& member = view->members[static_cast<std::size_t>(i)];
    net::Spawn(ProbeServer(session, i, EndpointOf(member), probes, latch));
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

// `view` with these servers in the slots, whose memories must follow.
Result<View> WithServers(View view, const Successions& successions) {
  for (const Succession& succession : successions) {
    const Result<Place> place = FindPlace(view, succession);
    if (!place) return Fail(place.error());
    Member& slot = view.members[static_cast<std::size_t>(place->member)];
    if (!place->done) GiveSlot(slot, succession.new_server.name());
  }
  return view;
}

// The view after `newest` for what the probes has shown.
Result<View> AfterProbe(Session& session, const View& newest,
                        const ServerProbes& probes,
                        const Successions& successions) {
  Result<View> base = WithServers(newest, successions);
  if (!base) return base;
  Result<View> after = AfterLoss(*base, probes.memories, session.WallMicros());
  if (after && !SameServers(*base, newest) &&
      EncodeView(*after) == EncodeView(*base)) {
    return Fail(
        StatusCode::kConflict,
        "no more servers are out by now than the cluster survives: ersctl "
        "replace gives their places to others");
  }
  return after;
}

bool AnyKept(const View& view, const std::vector<ServerMemory>& memories) {
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (!IsOut(view.members[i], memories[i])) return true;
  }
  return false;
}

// The lease of a process that this one does not know of was renewed on those
// that have lost their memory since; it may still read what others hold.
net::Duration LeasesLeft(const View& view, const ServerProbes& probes,
                         net::TimePoint since, net::TimePoint now) {
  if (!AnyKept(view, probes.memories)) return {};
  if (Planted(PlantedBug::kNoWaitAfterLoss)) return {};
  return std::max(since + kLongGoneAfter - now, net::Duration{});
}

Status WaitsForLeases(const View& view, net::Duration left) {
  return {StatusCode::kUnavailable,
          fmt::format("more than {} servers have lost their memory: in {} s "
                      "the others go on without it",
                      view.max_failures,
                      std::chrono::ceil<std::chrono::seconds>(left).count())};
}

void LogLoss(Session& session, const View& before, const View& now) {
  int gone = 0;
  int kept = 0;
  for (std::size_t i = 0; i < now.members.size(); ++i) {
    const Member& was = before.members[i];
    // Also those that were being backfilled: what they had is gone, too.
    const bool same = was.InSync() && now.members[i].boot_mark == was.boot_mark;
    ++(same ? kept : gone);
  }
  const bool void_all = now.AllInSync();
  session.cluster().Log(
      LogLevel::kError,
      fmt::format("view {}: {} of {} servers have lost their memory, more than "
                  "the {} that this cluster survives: {}; all go on",
                  now.epoch, gone, gone + kept, now.max_failures,
                  void_all ? "all values are gone"
                           : "values that were on too many of them are gone"));
}

// What to do about it, given the newest view that is known.
struct Plan {
  View newest;
  bool loses = false;    // more is out than that view survives
  net::Duration wait{};  // before that
};

Result<Plan> MakePlan(Session& session, const ServerProbes& probes,
                      const Successions& successions) {
  Plan plan{*session.cluster().keeper.Newest()};
  if (probes.newest && probes.newest->epoch > plan.newest.epoch) {
    Status fits = CheckMembers(session, session.cluster(), *probes.newest);
    if (!fits.ok()) return Fail(std::move(fits));
    plan.newest = *probes.newest;
  }
  const net::TimePoint now = session.runtime().Now();
  const net::TimePoint since =
      LostBy(plan.newest, probes.memories,
             session.cluster().loss.Saw(probes.memories, now));
  const Result<View> next =
      AfterProbe(session, plan.newest, probes, successions);
  if (!next) return Fail(next.error());
  plan.loses = EncodeView(*next) != EncodeView(plan.newest);
  if (plan.loses) plan.wait = LeasesLeft(plan.newest, probes, since, now);
  return plan;
}

// The connections are still to find out what the probes has shown.
void RetryKept(Session& session, const View& view, const ServerProbes& probes) {
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!IsOut(view.members[at], probes.memories[at])) session.link(i).Retry();
  }
}

// The next view, made of one that may be newer than the plan's. Where another
// process has done it: its view as it is, unless a member must leave.
Result<View> NextView(Session& session, const ServerProbes& probes,
                      const Plan& plan, const Successions& successions,
                      const View& base) {
  const View& newest = base.epoch < plan.newest.epoch ? plan.newest : base;
  Result<View> after = AfterProbe(session, newest, probes, successions);
  if (!after) return after;
  const bool same = EncodeView(*after) == EncodeView(newest);
  Result<View> next = Without(session, std::move(*after), {});
  if (!next || !same) return next;
  View as_it_is = *next;
  as_it_is.epoch = newest.epoch;
  if (EncodeView(as_it_is) == EncodeView(newest)) return as_it_is;
  return next;
}

}  // namespace

bool MoreThanMaxOut(Session& session) {
  const std::shared_ptr<const View> view = session.view();
  int out = 0;
  for (int i = 0; i < session.members(); ++i) {
    const net::ServerLink::State state = session.link(i).state();
    const bool dead = state == net::ServerLink::State::kRefused ||
                      state == net::ServerLink::State::kFailed;
    if (dead || view->members[i].state != MemberState::kInSync) ++out;
  }
  return out > view->max_failures;
}

Task<Result<ServerProbes>> ProbeServers(Session& session,
                                        const Successions& successions) {
  ServerProbes probes;
  std::shared_ptr<const View> newest = session.cluster().keeper.Newest();
  for (;;) {
    Result<View> view = WithServers(*newest, successions);
    if (!view) co_return Fail(view.error());
    co_await ProbeAll(session, std::make_shared<const View>(*view), probes);
    // A server that died just now had its last renewals just now.
    for (std::size_t i = 0; i < view->members.size(); ++i) {
      if (view->members[i].server() != newest->members[i].server()) {
        probes.memories[i].began = session.runtime().Now();
      }
    }
    const bool elsewhere = probes.newest &&
                           probes.newest->epoch > newest->epoch &&
                           SameSlots(*probes.newest, *newest) &&
                           !SameServers(*probes.newest, *newest);
    if (!elsewhere) co_return probes;
    newest = std::make_shared<const View>(*probes.newest);
  }
}

Task<Status> ActOn(Session& session, const ServerProbes& probes,
                   const Successions& successions, net::Duration& wait) {
  const std::shared_ptr<const View> before = session.view();
  const Result<Plan> plan = MakePlan(session, probes, successions);
  const bool nothing =
      plan && !plan->loses && plan->newest.epoch == before->epoch;
  if (plan) wait = plan->wait;
  if (!plan || nothing || wait > net::Duration{}) {
    if (nothing) RetryKept(session, *before, probes);
    session.cluster().keeper.EndChange(nullptr);
    if (wait > net::Duration{}) co_return WaitsForLeases(plan->newest, wait);
    co_return plan ? Status() : plan.error();
  }
  const Edit edit = [&](const View& base) {
    return NextView(session, probes, *plan, successions, base);
  };
  std::vector<int> leaving;
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const ServerMemory& memory = probes.memories[at];
    if (!IsOut(before->members[at], memory)) continue;
    session.link(i).Abort("more than f are out");
    leaving.push_back(i);
    // One that was backfilled may be in sync in the next view, and store it.
    if (memory.boot_mark == before->members[at].boot_mark) {
      session.link(i).Retry();
    }
  }
  Status status = co_await ChangeAll(session, edit, std::move(leaving));
  if (status.ok() && plan->loses) {
    LogLoss(session, plan->newest, *session.view());
  }
  co_return status;
}

Task<Status> GoOnAfterLoss(Session& session) {
  LossWatch& loss = session.cluster().loss;
  if (!loss.IsDue(session.runtime().Now())) {
    const Status last = loss.last();
    if (!last.ok() || !MoreThanMaxOut(session)) co_return last;
    co_return Status(StatusCode::kUnavailable,
                     "servers are out: they are being probed, try again");
  }
  const Successions none;
  const Result<ServerProbes> probes = co_await ProbeServers(session, none);
  if (!probes) co_return probes.error();
  if (!probes->other_format.ok()) co_return probes->other_format;
  co_await ClaimChange(session);
  net::Duration wait{};
  Status status = co_await ActOn(session, *probes, none, wait);
  loss.SetLast(status);
  co_return status;
}

}  // namespace ers::store
