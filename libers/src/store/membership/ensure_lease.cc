#include "store/membership/ensure_lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/membership/in_doubt_write.h"
#include "store/membership/loss_round.h"
#include "store/membership/participants.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_links.h"
#include "store/membership/view_records.h"

namespace ers::store {
namespace {

using net::Task;

Status TooMany() {
  return {StatusCode::kUnavailable,
          fmt::format("{} processes share this cluster already: end some",
                      kMaxParticipants)};
}

// Those that did not take the entry because they are dead leave the view. True:
// one did.
Task<bool> DropSilent(Session& session, std::vector<int> silent) {
  bool dropped = false;
  for (const int member : silent) {
    const net::ServerLink& link = session.link(member);
    const net::ServerLink::State state = link.state();
    if (state != net::ServerLink::State::kFailed &&
        state != net::ServerLink::State::kRefused) {
      continue;
    }
    const Status left = co_await MarkDown(session, member, link.last_error());
    dropped |= left.ok();
  }
  co_return dropped;
}

// Which members did not take the entry, and which are out already.
Status TooFew(Session& session, View view, const std::vector<int>& silent) {
  const Status loss = session.cluster().loss.last();
  if (!loss.ok() && MoreThanMaxOut(session)) return loss;
  std::string names;
  for (const int member : silent) {
    view.members[member].state = MemberState::kDown;
    names += (names.empty() ? "" : "; ") + session.Describe(member);
  }
  Status tolerated = CheckTolerated(session, view);
  if (!tolerated.ok()) return tolerated;
  return {StatusCode::kUnavailable,
          fmt::format("too few servers answer ({})", names)};
}

bool AllDead(Session& session, const std::vector<int>& members) {
  return std::all_of(members.begin(), members.end(), [&session](int member) {
    const net::ServerLink::State state = session.link(member).state();
    return state == net::ServerLink::State::kFailed ||
           state == net::ServerLink::State::kRefused;
  });
}

// Those that took the view may be gone: a search for it must find it.
Task<void> StoreAgain(Session& session, std::shared_ptr<const View> view) {
  std::optional<View> newer;
  (void)co_await StoreViewRecord(session, *view, newer);
}

// Others that stand in the way of a process that comes, and were killed, count
// as gone by then.
constexpr net::Duration kForOthers = std::chrono::seconds(6);

bool MayPass(const Status& refusal) {
  return refusal.code() == StatusCode::kUnavailable;
}

// The lease has run out, or never began.
Task<Status> Join(Session& session) {
  Lease& lease = session.cluster().lease;
  const net::TimePoint begun = session.runtime().Now();
  const net::TimePoint deadline =
      begun + session.cluster().options.operation_timeout;
  for (;;) {
    std::unique_ptr<HeartbeatClaim> claim =
        co_await HeartbeatClaim::Await(session);
    if (lease.Holds(session.runtime().Now())) co_return Status();
    const std::shared_ptr<const View> view = session.view();
    ViewLinks links(session, *view);
    const Heartbeat heartbeat =
        co_await HeartbeatAll(session, links, *view, Purpose::kJoin);
    const net::TimePoint now = session.runtime().Now();
    if (!heartbeat.refusal.ok()) {
      if (now - begun >= kForOthers || !MayPass(heartbeat.refusal)) {
        co_return heartbeat.refusal;
      }
      claim.reset();
      co_await AskLater(session);
      continue;
    }
    const std::vector<std::string> behind =
        Behind(session, heartbeat, view->epoch);
    if (heartbeat.others.size() >= kMaxParticipants) {
      if (now - begun >= kForOthers) co_return TooMany();
      claim.reset();
      co_await TakeOffGone(session);
      co_await AskLater(session);
      continue;
    }
    const bool current = heartbeat.epoch <= view->epoch && !heartbeat.split;
    // The maker of the view may have died before all others left the earlier
    // one: then this is the end of that change, and asks as many members.
    const bool asked =
        lease.WasConfirmed(view->epoch) || heartbeat.in_sync >= view->Quorum();
    if (current && asked && behind.empty()) lease.Confirm(*view);
    claim.reset();
    if (current && heartbeat.outdated) co_await StoreAgain(session, view);
    if (lease.Holds(now)) co_return Status();
    const bool late = now >= deadline;
    // No more than those will take the entry before one of the others is
    // started; a member that is behind may be so for that very reason.
    const bool too_few = !asked || (current && behind.empty());
    const bool in_vain = too_few && !heartbeat.silent.empty() &&
                         AllDead(session, heartbeat.silent);
    if (!current) {
      Status followed = co_await FollowView(session);
      if (!followed.ok()) co_return followed;
    } else if (!behind.empty() && !in_vain) {
      if (late) co_return Stalled(behind);
      co_await AskLater(session, heartbeat.others.size());
      continue;
    } else if (!heartbeat.silent.empty()) {
      const bool dropped = co_await DropSilent(session, heartbeat.silent);
      if (dropped) continue;
    }
    if (late || heartbeat.held == 0 || in_vain) {
      co_return TooFew(session, *view, heartbeat.silent);
    }
    co_await AskLater(session);
  }
}

// Nothing waits for it.
Task<void> HeartbeatOnce(Session& session,
                         std::unique_ptr<HeartbeatClaim> claim) {
  const std::shared_ptr<const View> view = session.view();
  ViewLinks links(session, *view);
  const Heartbeat heartbeat =
      co_await HeartbeatAll(session, links, *view, Purpose::kGoOn);
  claim.reset();
  if (heartbeat.epoch > view->epoch) {
    (void)co_await FollowView(session);
    co_return;
  }
  // The members that took it may be gone: without it none could follow.
  const bool holds = session.cluster().lease.Holds(session.runtime().Now());
  if (heartbeat.outdated && holds) co_await StoreAgain(session, view);
  if (session.cluster().lease.TakeTurnForGone(session.runtime().Now())) {
    co_await TakeOffGone(session);
  }
}

}  // namespace

Task<Status> EnsureLease(Session& session) {
  const net::TimePoint now = session.runtime().Now();
  Lease& lease = session.cluster().lease;
  if (!lease.Holds(now)) return Join(session);
  if (lease.HeartbeatIsDue(now)) {
    AdoptOrphans(session);
    std::unique_ptr<HeartbeatClaim> claim = HeartbeatClaim::Try(session);
    if (claim) session.DetachHolding(HeartbeatOnce(session, std::move(claim)));
  }
  return Task<Status>::Ready(Status());
}

}  // namespace ers::store
