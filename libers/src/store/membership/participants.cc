#include "store/membership/participants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "net/stat_lines.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/format/record.h"
#include "store/membership/batch.h"
#include "store/membership/member_records.h"
#include "store/membership/spare_room.h"
#include "store/membership/view_checks.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

constexpr net::Duration kAskAgainAfter = std::chrono::milliseconds(20);
constexpr net::Duration kLaterForEach = std::chrono::milliseconds(2);

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

void KeepRoomFor(Session& session, net::ServerLink& link, const View& view,
                 const MemberRecords& records) {
  SpareRoom& room = session.spare_room();
  if (!room.Has(link, kViewKey, 1)) {
    KeepRoom(session, link, kViewKey, EncodeView(view).size());
  }
  if (!room.Has(link, kParticipantsKey, 1)) {
    const auto& there = records.registry.registry->participants;
    KeepRoom(session, link, kParticipantsKey, EncodeRegistry(there).size());
  }
  if (!room.Has(link, kEntryPrefix, 1)) {
    KeepRoom(session, link, kEntryPrefix, EncodeEntry({}).size());
  }
}

// The member has the entry, and lists this process.
void Hold(Session& session, net::ServerLink& link, net::TimePoint sent,
          const MemberRecords& records, Round& round) {
  const auto at = static_cast<std::size_t>(link.member());
  ++round.heartbeat.held;
  if (round.view.members[at].state == MemberState::kInSync) {
    ++round.heartbeat.in_sync;
  }
  session.cluster().lease.Renewed(link.member(), sent);
  KeepRoomFor(session, link, round.view, records);
}

bool ListsSelf(Session& session, const MemberRecords& records) {
  const Participant self =
      session.cluster().lease.Self(session.runtime().Random());
  return records.registry.registry->Lists(self.id) ||
         Planted(PlantedBug::kRegistryForgetsJoiner);
}

// With an entry that says already what it is to say, only another CAS number.
// False: there is none, or the member does not list the process.
Task<bool> Renew(Session& session, net::ServerLink& link,
                 std::uint64_t connection, Placement& placement,
                 MemberRecords& records) {
  const Participant self =
      session.cluster().lease.Self(session.runtime().Random());
  const std::string key = EntryKey(self.id);
  net::Request renewal = RenewalOf(key);
  placement.sent = session.runtime().Now();
  records = co_await ReadRecords(session, link, connection, &renewal);
  placement.connection = records.connection;
  placement.refusal = records.refusal;
  co_return records.connection == 0 ||
      (renewal.outcome == net::Outcome::kOk && ListsSelf(session, records));
}

// The first half of a heartbeat: the entry is on the member.
Task<void> PlaceOn(Session& session, net::ServerLink& link, Round& round,
                   net::Latch& latch) {
  ClusterState& cluster = session.cluster();
  const int member = link.member();
  const std::uint64_t epoch = cluster.lease.EpochOfEntry(round.view.epoch);
  const bool renews =
      round.purpose != Purpose::kJoin &&
      cluster.stamps.OwnEpochOn(member, link.facts().boot_mark) == epoch;
  Placement placement;
  MemberRecords records;
  bool placed = false;
  if (renews) {
    placed = co_await Renew(session, link, 0, placement, records);
  }
  if (!placed) {
    placement = co_await PlaceEntry(session, link, epoch,
                                    round.purpose == Purpose::kJoin);
    records = MemberRecords();
  }
  if (!placement.refusal.ok()) round.heartbeat.refusal = placement.refusal;
  if (round.purpose != Purpose::kGoOn) {
    round.placed[member] = placement;
    latch.CountDown();
    co_return;
  }
  if (placement.connection != 0 && records.connection == 0) {
    records =
        co_await ReadRecords(session, link, placement.connection, nullptr);
  }
  if (records.connection == 0 || !ListsSelf(session, records)) {
    round.heartbeat.silent.push_back(member);
    latch.CountDown();
    co_return;
  }
  CompareViews(records.view, round);
  // A member that shows a later view has been asked for this one's participants
  // already.
  if (records.view.epoch <= round.view.epoch) {
    Hold(session, link, placement.sent, records, round);
    // Without waiting for a member that takes its time.
    const bool goes_on = cluster.lease.Holds(session.runtime().Now());
    if (goes_on) cluster.lease.Confirm(round.view);
  }
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
    if (IsNewerFormat(entry)) {
      heartbeat.refusal = NewerFormat(link, entry.error());
    }
    const bool right = entry && entry->id == asked[i]->id;
    Other& other = heartbeat.others[asked[i]->id];
    if (right) other.epoch = std::max(other.epoch, entry->epoch);
    // One that is listed and has no entry may be about to write it.
    lease.Observe(link.member(), asked[i]->id,
                  {right ? entry->count : 0, read.item_token}, now);
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
  bool held = records.connection != 0 && records.refusal.ok() &&
              ListsSelf(session, records);
  if (held) {
    held = co_await ReadEntries(session, link, records, round.known,
                                round.view.epoch, round.heartbeat);
  }
  if (held) {
    // Others that came to this view may have stored a later one since.
    CompareViews(records.view, round);
    Hold(session, link, placement.sent, records, round);
  } else {
    round.heartbeat.silent.push_back(link.member());
  }
  latch.CountDown();
}

// What a member's clock shows, on the way.
Task<void> AskClock(Session& session, net::ServerLink& link,
                    net::Latch& latch) {
  net::Request ask;
  ask.verb = net::Verb::kStats;
  const net::TimePoint asked = session.runtime().Now();
  Batch batch(session.runtime());
  batch.Send(SendStep::kServerStats, link, ask);
  co_await batch;
  const auto seconds = net::StatNumber(ask.value, "time");
  if (ask.outcome == net::Outcome::kOk && seconds) {
    session.cluster().clock.Note(session.runtime(), link.member(), *seconds,
                                 asked);
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
      if (lease.IsGone(listed.id, asked)) gone.push_back(listed.id);
    }
    // One that has come back meanwhile has moved the registry's stamp.
    if (!gone.empty()) {
      co_await TakeOff(session, link, std::move(gone), &records);
    }
  }
  latch.CountDown();
}

// The members that a heartbeat goes to. To go on, as many as a lease takes and
// one more, each in turn; all, where the lease has not long to last.
std::vector<int> Asked(Session& session, const View& view, Purpose purpose) {
  std::vector<int> members;
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (view.members[at].state != MemberState::kDown) members.push_back(i);
  }
  const auto enough = static_cast<std::size_t>(view.max_failures) + 2;
  Lease& lease = session.cluster().lease;
  const bool all = purpose != Purpose::kGoOn || members.size() <= enough ||
                   !lease.Holds(session.runtime().Now() + kLeaseFor / 2);
  if (all) return members;
  const std::size_t first = lease.TakeTurn(enough) % members.size();
  std::rotate(members.begin(),
              members.begin() + static_cast<std::ptrdiff_t>(first),
              members.end());
  members.resize(enough);
  return members;
}

}  // namespace

Task<std::unique_ptr<HeartbeatClaim>> HeartbeatClaim::Await(Session& session) {
  Lease& lease = session.cluster().lease;
  for (;;) {
    std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
    if (lease.BeginHeartbeat(session.runtime().Now(), wakeup->Callback())) {
      break;
    }
    co_await wakeup->Wait(session.cluster().options.operation_timeout);
  }
  co_return std::make_unique<HeartbeatClaim>(lease);
}

std::unique_ptr<HeartbeatClaim> HeartbeatClaim::Try(Session& session) {
  Lease& lease = session.cluster().lease;
  if (!lease.BeginHeartbeat(session.runtime().Now(), {})) return nullptr;
  return std::make_unique<HeartbeatClaim>(lease);
}

Task<Heartbeat> HeartbeatAll(Session& session, ViewLinks& links,
                             const View& view, Purpose purpose,
                             const Others* known) {
  Round round{view, purpose, known};
  if (purpose == Purpose::kJoin) {
    round.hash = std::hash<std::string>()(EncodeView(view));
  }
  const std::vector<int> members = Asked(session, view, purpose);
  net::Latch latch(session.runtime());
  const bool asks = session.cluster().clock.TakeTurn(session.runtime().Now());
  for (const int member : members) {
    if (asks) {
      latch.Add();
      net::Spawn(AskClock(session, links.At(member), latch));
    }
    latch.Add();
    net::Spawn(PlaceOn(session, links.At(member), round, latch));
  }
  co_await latch;
  // This process may have left the view already, for one that did not come.
  round.heartbeat.epoch = std::max(
      round.heartbeat.epoch, session.cluster().lease.EpochOfEntry(view.epoch));
  if (purpose == Purpose::kGoOn) co_return std::move(round.heartbeat);
  round.heartbeat.asked = session.runtime().Now();
  for (const int member : members) {
    if (round.placed[member].connection == 0) {
      round.heartbeat.silent.push_back(member);
      continue;
    }
    latch.Add();
    net::Spawn(ReadOthersOn(session, links.At(member), round, latch));
  }
  co_await latch;
  for (const auto& [id, other] : round.heartbeat.others) {
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

Status Stalled(const std::vector<std::string>& behind) {
  return {StatusCode::kUnavailable,
          fmt::format("{} goes on under an old view of the servers: stop it",
                      fmt::join(behind, ", "))};
}

Task<void> AskLater(Session& session, std::size_t others) {
  const std::shared_ptr<Wakeup> nap = Wakeup::New(session.runtime());
  (void)co_await nap->Wait(std::max<net::Duration>(
      kAskAgainAfter, static_cast<int>(others) * kLaterForEach));
}

Task<Result<bool>> AwaitParticipants(Session& session, const View& next) {
  Lease& lease = session.cluster().lease;
  lease.RaiseEpoch(next.epoch);
  ViewLinks links(session, next);
  const net::TimePoint deadline =
      session.runtime().Now() + session.cluster().options.operation_timeout;
  Others known;
  for (;;) {
    std::unique_ptr<HeartbeatClaim> claim =
        co_await HeartbeatClaim::Await(session);
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
          fmt::format("only {} of the {} servers needed took the new view "
                      "({}): start what does not answer",
                      heartbeat.in_sync, next.Quorum(), silent));
    }
    if (heartbeat.epoch > next.epoch) {
      co_await AskLater(session);
      co_return false;
    }
    const std::vector<std::string> behind =
        Behind(session, heartbeat, next.epoch);
    if (behind.empty() || Planted(PlantedBug::kNoParticipants)) co_return true;
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
