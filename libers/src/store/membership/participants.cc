#include "store/membership/participants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/format/record.h"
#include "store/membership/batch.h"
#include "store/membership/member_records.h"
#include "store/membership/view_checks.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

constexpr net::Duration kAskAgainAfter = std::chrono::milliseconds(20);
constexpr net::Duration kAskLaterForEach = std::chrono::milliseconds(2);

// One heartbeat: what it is for, and what came of it so far.
struct Round {
  const View& view;
  Purpose purpose;
  const Others* known;
  std::size_t hash = 0;  // of the view's record; with kJoin
  std::map<int, Placement> placed{};
  Heartbeat heartbeat{};
};

// What a member's view record says to a process that goes by `view`: nearly
// always the same.
void CompareViews(const StampedView& there, Round& round) {
  Heartbeat& heartbeat = round.heartbeat;
  heartbeat.epoch = std::max(heartbeat.epoch, there.epoch);
  heartbeat.outdated |= there.epoch < round.view.epoch;
  heartbeat.split |= round.purpose == Purpose::kJoin &&
                     there.epoch == round.view.epoch &&
                     there.hash != round.hash;
}

// The first half of a heartbeat: the entry is on the member.
Task<void> PlaceOn(Session& session, net::ServerLink& link, Round& round,
                   net::Latch& latch) {
  ClusterState& cluster = session.cluster();
  const int member = link.member();
  const EntryTerms terms = cluster.lease.TermsOfEntry(round.view.epoch);
  const bool renews =
      round.purpose != Purpose::kJoin && OwnTerms(session, link) == terms;
  Placement placement;
  bool placed = false;
  if (renews) {
    const RenewedEntry renewed = co_await RenewEntry(session, link);
    placement = {renewed.records.connection, renewed.sent, renewed.lease_for,
                 renewed.records.refusal};
    placed = renewed.there || renewed.records.connection == 0;
  }
  if (!placed) {
    placement = co_await PlaceEntry(session, link, terms.epoch,
                                    round.purpose == Purpose::kJoin);
  }
  if (!placement.refusal.ok()) round.heartbeat.refusal = placement.refusal;
  round.placed[member] = placement;
  latch.CountDown();
}

// What a member shows of the entries of others that it lists. False: not all.
Task<bool> ReadEntries(Session& session, net::ServerLink& link,
                       const MemberRecords& records, const Others* known,
                       std::uint64_t epoch, Heartbeat& heartbeat) {
  Lease& lease = session.cluster().lease;
  const std::uint64_t self = lease.Self(session.runtime().Random()).id;
  const std::shared_ptr<const Registry> registry = records.registry.registry;
  std::deque<std::string> keys;
  std::deque<net::Request> reads;
  std::vector<const Participant*> asked;
  Batch batch(session.runtime());
  for (const Participant& participant : registry->participants) {
    if (participant.id == self) continue;
    Other& other = heartbeat.others[participant.id];
    other.label = participant.label;
    if (known != nullptr) {
      const auto before = known->find(participant.id);
      if (before != known->end() && before->second.epoch >= epoch) {
        other.epoch = std::max(other.epoch, before->second.epoch);
        continue;
      }
    }
    net::Request& read = reads.emplace_back();
    read.verb = net::Verb::kGet;
    read.key = keys.emplace_back(EntryKey(participant.id));
    read.only_connection = records.connection;
    asked.push_back(&participant);
    batch.Send(SendStep::kReadParticipants, link, read);
  }
  co_await batch;
  bool all = true;
  const net::TimePoint now = session.runtime().Now();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const net::Request& read = reads[i];
    if (!net::Answered(read.outcome)) {
      all = false;
      continue;
    }
    const Result<Entry> entry = DecodeEntry(read.value);
    if (IsOtherFormat(entry)) {
      heartbeat.refusal = OtherFormat(link, entry.error());
    }
    const bool right = entry && entry->id == asked[i]->id;
    Other& other = heartbeat.others[asked[i]->id];
    if (right) other.epoch = std::max(other.epoch, entry->terms.epoch);
    // One that is listed and has no entry may be about to write it, or hold a
    // lease by one that was evicted.
    lease.Observe(link.member(), asked[i]->id,
                  {right ? entry->count : 0, read.item_token,
                   right ? entry->terms.lease_for : kLongLeaseFor},
                  now);
  }
  co_return all;
}

// The second half, once the first is over on all members: what others show. A
// process whose view was stored, or whose entry was placed, before that is met.
Task<void> ReadOthersOn(Session& session, net::ServerLink& link, Round& round,
                        net::Latch& latch) {
  const Placement& placement = round.placed[link.member()];
  const MemberRecords records =
      co_await ReadRecords(session, link, placement.connection, nullptr);
  if (!records.refusal.ok()) round.heartbeat.refusal = records.refusal;
  const bool answered = records.connection != 0;
  if (!answered) round.heartbeat.unanswered.push_back(link.member());
  bool held = answered && placement.connection != 0 && records.refusal.ok() &&
              ListsSelf(session, records);
  if (held) {
    held = co_await ReadEntries(session, link, records, round.known,
                                round.view.epoch, round.heartbeat);
  }
  if (held) {
    // Others that came to this view may have stored a later one since.
    CompareViews(records.view, round);
    const auto at = static_cast<std::size_t>(link.member());
    ++round.heartbeat.held;
    if (round.view.members[at].state == MemberState::kInSync) {
      ++round.heartbeat.in_sync;
    }
    Lease& lease = session.cluster().lease;
    lease.Shown(link.member(), placement.sent);
    // Processes of a later view may have asked the member before.
    if (records.view.epoch <= round.view.epoch) {
      NoteRenewed(session, link, placement.sent, placement.lease_for);
    }
    KeepRoomFor(session, link, records);
  } else {
    round.heartbeat.silent.push_back(link.member());
  }
  latch.CountDown();
}

Task<void> TakeOffOn(Session& session, net::ServerLink& link,
                     std::vector<std::uint64_t> ids, net::Latch& latch) {
  co_await TakeOff(session, link, std::move(ids), nullptr);
  latch.CountDown();
}

Task<void> TakeOffGoneOn(Session& session, net::ServerLink& link,
                         Heartbeat& heartbeat, net::Latch& latch) {
  const net::TimePoint asked = session.runtime().Now();
  const MemberRecords records = co_await ReadRecords(session, link, 0, nullptr);
  bool all = records.connection != 0 && records.refusal.ok();
  if (all) {
    all = co_await ReadEntries(session, link, records, nullptr, 0, heartbeat);
  }
  if (all) {
    const Lease& lease = session.cluster().lease;
    std::vector<std::uint64_t> gone;
    for (const Participant& listed : records.registry.registry->participants) {
      if (lease.IsGone(listed.id, asked, kTakenOffAfter)) {
        gone.push_back(listed.id);
      }
    }
    // One that has come back meanwhile has moved the registry's stamp.
    if (!gone.empty()) {
      co_await TakeOff(session, link, std::move(gone), &records);
    }
  }
  latch.CountDown();
}

}  // namespace

Task<std::unique_ptr<PlacingClaim>> PlacingClaim::Await(Session& session) {
  Lease& lease = session.cluster().lease;
  for (;;) {
    std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
    if (lease.BeginPlacing(wakeup->Callback())) break;
    co_await wakeup->Wait(session.cluster().options.operation_timeout);
  }
  co_return std::make_unique<PlacingClaim>(session);
}

std::unique_ptr<PlacingClaim> PlacingClaim::Try(Session& session) {
  if (!session.cluster().lease.BeginPlacing({})) return nullptr;
  return std::make_unique<PlacingClaim>(session);
}

PlacingClaim::PlacingClaim(Session& session) : session_(session) {
  session_.BeginHolding();
}

PlacingClaim::~PlacingClaim() {
  session_.cluster().lease.EndPlacing();
  session_.EndHolding();
}

Task<Heartbeat> HeartbeatAll(Session& session, ViewLinks& links,
                             const View& view, Purpose purpose,
                             const Others* known) {
  Round round{view, purpose, known};
  if (purpose == Purpose::kJoin) {
    round.hash = std::hash<std::string>()(EncodeView(view));
  }
  std::vector<int> members;
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (view.members[at].state != MemberState::kDown) members.push_back(i);
  }
  net::Latch latch(session.runtime());
  for (const int member : members) {
    latch.Add();
    net::Spawn(PlaceOn(session, links.At(member), round, latch));
  }
  co_await latch;
  // This process may have left the view already, for one that did not come.
  round.heartbeat.epoch =
      std::max(round.heartbeat.epoch,
               session.cluster().lease.TermsOfEntry(view.epoch).epoch);
  round.heartbeat.asked = session.runtime().Now();
  for (const int member : members) {
    latch.Add();
    net::Spawn(ReadOthersOn(session, links.At(member), round, latch));
  }
  co_await latch;
  // Of one that is gone the records show more: where no member has its view,
  // that was lost with the memory of more than f.
  const Lease& lease = session.cluster().lease;
  for (const auto& [id, other] : round.heartbeat.others) {
    if (lease.IsGone(id, round.heartbeat.asked)) continue;
    round.heartbeat.epoch = std::max(round.heartbeat.epoch, other.epoch);
  }
  co_return std::move(round.heartbeat);
}

std::vector<std::string> Behind(Session& session, const Heartbeat& heartbeat,
                                std::uint64_t epoch) {
  const Lease& lease = session.cluster().lease;
  std::vector<std::string> behind;
  for (const auto& [id, other] : heartbeat.others) {
    if (other.epoch >= epoch || lease.IsGone(id, heartbeat.asked)) continue;
    behind.push_back(other.label);
  }
  return behind;
}

std::vector<int> MayLandOn(Session& session, const Heartbeat& heartbeat,
                           const View& view) {
  std::vector<int> members;
  if (Planted(PlantedBug::kGoneUnasked)) return members;
  const Lease& lease = session.cluster().lease;
  for (const int member : heartbeat.unanswered) {
    // What was sent before it joined is void; nothing is known of one that has
    // shown no epoch, and of a view that was lost.
    const std::uint64_t joined =
        view.members[static_cast<std::size_t>(member)].joined;
    const auto may = [&](const auto& one) {
      const std::uint64_t epoch = one.second.epoch;
      return epoch != view.epoch && (epoch == 0 || epoch >= joined) &&
             lease.IsGone(one.first, heartbeat.asked);
    };
    if (std::any_of(heartbeat.others.begin(), heartbeat.others.end(), may)) {
      members.push_back(member);
    }
  }
  return members;
}

Status Stalled(const std::vector<std::string>& behind) {
  return {StatusCode::kUnavailable,
          fmt::format("{} goes on under an old view of the servers: stop it",
                      fmt::join(behind, ", "))};
}

Task<void> AskLater(Session& session, std::size_t others) {
  const std::shared_ptr<Wakeup> nap = Wakeup::New(session.runtime());
  (void)co_await nap->Wait(std::max<net::Duration>(
      kAskAgainAfter, static_cast<int>(others) * kAskLaterForEach));
}

namespace {

bool HasFailed(const net::ServerLink& link) {
  return link.state() == net::ServerLink::State::kFailed ||
         link.state() == net::ServerLink::State::kRefused;
}

}  // namespace

Task<Result<Agreement>> AwaitParticipants(Session& session, const View& next) {
  Lease& lease = session.cluster().lease;
  lease.RaiseEpoch(next.epoch);
  ViewLinks links(session, next);
  const net::TimePoint deadline =
      session.runtime().Now() + session.cluster().options.operation_timeout;
  Others known;
  for (;;) {
    std::unique_ptr<PlacingClaim> claim = co_await PlacingClaim::Await(session);
    const Heartbeat heartbeat =
        co_await HeartbeatAll(session, links, next, Purpose::kChange, &known);
    claim.reset();
    if (!heartbeat.refusal.ok()) co_return Fail(heartbeat.refusal);
    // One that is backfilled has not seen the entries of before.
    if (heartbeat.in_sync < next.Quorum()) {
      std::string silent;
      for (const int member : heartbeat.silent) {
        silent += (silent.empty() ? "" : "; ") + session.Describe(member);
      }
      co_return Fail(
          StatusCode::kUnavailable,
          fmt::format("only {} of the {} servers needed take the new view "
                      "({}): start what does not answer",
                      heartbeat.in_sync, next.Quorum(), silent));
    }
    if (heartbeat.epoch > next.epoch) {
      co_await AskLater(session);
      co_return Agreement();
    }
    const std::vector<std::string> behind =
        Behind(session, heartbeat, next.epoch);
    const std::vector<int> unanswered = MayLandOn(session, heartbeat, next);
    Agreement agreement;
    agreement.all = (behind.empty() && unanswered.empty()) ||
                    Planted(PlantedBug::kNoParticipants);
    if (!agreement.all && behind.empty()) {
      for (const int member : unanswered) {
        if (HasFailed(links.At(member))) agreement.leaving.push_back(member);
      }
    }
    if (agreement.all || !agreement.leaving.empty()) co_return agreement;
    if (session.runtime().Now() >= deadline) co_return Fail(Stalled(behind));
    known = heartbeat.others;
    co_await AskLater(session, known.size());
  }
}

Task<void> TakeOffGone(Session& session) {
  const std::shared_ptr<const View> view = session.view();
  Heartbeat heartbeat;
  net::Latch latch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (view->members[at].state == MemberState::kDown) continue;
    latch.Add();
    net::Spawn(TakeOffGoneOn(session, session.link(i), heartbeat, latch));
  }
  co_await latch;
  std::vector<std::uint64_t> listed;
  for (const auto& [id, other] : heartbeat.others) listed.push_back(id);
  session.cluster().lease.ForgetOthers(listed);
}

Task<void> LeaveParticipants(Session& session) {
  net::Latch latch(session.runtime());
  Lease& lease = session.cluster().lease;
  lease.Leave();
  const std::uint64_t self = lease.Self(session.runtime().Random()).id;
  // A heartbeat that is under way goes ahead of this on each connection. A
  // server that is refused has another memory, which never took the entry.
  for (int i = 0; i < session.members(); ++i) {
    net::ServerLink& link = session.link(i);
    if (link.state() != net::ServerLink::State::kUp) continue;
    latch.Add();
    net::Spawn(TakeOffOn(session, link, {self}, latch));
  }
  co_await latch;
}

}  // namespace ers::store
