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
#include "store/membership/lease_renewal.h"
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

// Those of `view` that did not take the entry because they are dead leave.
// True: one did.
Task<bool> DropSilent(Session& session, const View& view,
                      std::vector<int> silent) {
  bool dropped = false;
  for (const int member : silent) {
    // It may have come back meanwhile, and its link not have tried it yet.
    const auto at = static_cast<std::size_t>(member);
    if (session.view()->members[at].joined > view.epoch) continue;
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
  if (silent.empty()) {
    return {StatusCode::kUnavailable,
            fmt::format("too few servers answer within {} ms",
                        kLongLeaseFor.count())};
  }
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
  (void)co_await StoreViewRecord(session, *view, StoredAs::kAgain, newer);
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
    const bool resumed = co_await HoldOrResume(session);
    if (resumed) co_return Status();
    std::unique_ptr<PlacingClaim> claim = co_await PlacingClaim::Await(session);
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
    // What one that is gone has sent may land yet on those that say nothing.
    const bool landed = MayLandOn(session, heartbeat, *view).empty();
    const bool joined = current && asked && behind.empty() && landed;
    if (joined) lease.Confirm(*view);
    claim.reset();
    if (current && heartbeat.outdated) co_await StoreAgain(session, view);
    if (lease.Holds(session.runtime().Now())) co_return Status();
    const bool late = now >= deadline;
    // The slowest member took longer than a lease lasts.
    const bool held = heartbeat.held >= Lease::MembersNeeded(*view);
    if (joined && held && !late) continue;
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
      const bool left = co_await DropSilent(session, *view, heartbeat.silent);
      if (left) continue;
    }
    if (late || heartbeat.held == 0 || in_vain) {
      co_return TooFew(session, *view, heartbeat.silent);
    }
    co_await AskLater(session);
  }
}

// What others have done meanwhile.
Task<void> GoBy(Session& session, std::shared_ptr<const View> view,
                Renewal renewal) {
  if (renewal.epoch > view->epoch) {
    (void)co_await FollowView(session);
    co_return;
  }
  // The members that took it may be gone: without it none could follow.
  if (renewal.outdated) {
    const Status leave = co_await EnsureLeaseAtRest(session);
    const bool stays = session.view()->epoch == view->epoch;
    if (leave.ok() && stays) co_await StoreAgain(session, view);
  }
  if (session.cluster().lease.TakeTurnForGone(session.runtime().Now())) {
    co_await TakeOffGone(session);
  }
}

// Nothing waits for it.
Task<void> HeartbeatOnce(Session& session) {
  const std::shared_ptr<const View> view = session.view();
  const Renewal renewal = co_await RenewLease(session, view);
  session.DetachHolding(GoBy(session, view, renewal));
}

void GiveHeartbeatAt(Session& session, net::TimePoint now) {
  AdoptOrphans(session);
  ClusterState& cluster = session.cluster();
  // A change of the view gives its own.
  if (!cluster.lease.Holds(now) && !cluster.keeper.AtRest([] {})) return;
  if (!cluster.lease.TakeHeartbeat(now)) return;
  session.Detach(HeartbeatOnce(session));
}

// Of every call, often: the clock is asked once.
Task<Status> EnsureLeaseAt(Session& session, net::TimePoint now) {
  if (!session.cluster().lease.Holds(now)) {
    // Others may wait for what those may do yet.
    AdoptOrphans(session);
    return Join(session);
  }
  GiveHeartbeatAt(session, now);
  return Task<Status>::Ready(Status());
}

}  // namespace

void GiveHeartbeat(Session& session) {
  GiveHeartbeatAt(session, session.runtime().Now());
}

Task<Status> EnsureLease(Session& session) {
  const net::TimePoint now = session.runtime().Now();
  session.cluster().lease.NoteCall(now);
  return EnsureLeaseAt(session, now);
}

Task<Status> EnsureLeaseAtRest(Session& session) {
  return EnsureLeaseAt(session, session.runtime().Now());
}

}  // namespace ers::store
