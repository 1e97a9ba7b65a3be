#include "store/membership/member_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/format/record.h"
#include "store/membership/batch.h"
#include "store/membership/spare_room.h"
#include "store/membership/view_checks.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// Others that come or go at the same time: one of them gets through each time.
constexpr int kWriteTries = static_cast<int>(kMaxParticipants);
// Processes of an older version give heartbeats for longer leases.
constexpr net::Duration kOlderGoneAfter = std::chrono::seconds(5);
// Of an entry that no process renews: no other needs to find it then.
constexpr std::int64_t kEntryLivesFor = 300;

// The connection over which all were answered, if it stands; else 0.
std::uint64_t ConnectionOf(const net::ServerLink& link,
                           std::initializer_list<const net::Request*> all) {
  for (const net::Request* request : all) {
    if (request == nullptr) continue;
    if (!net::Answered(request->outcome) ||
        request->outcome == Outcome::kServerError ||
        request->connection != link.connection()) {
      return 0;
    }
  }
  return link.connection();
}

bool IsThere(const net::Request& read) {
  return read.outcome == Outcome::kOk || read.outcome == Outcome::kCreated;
}

net::Request Read(net::Verb verb, std::string_view key,
                  std::uint64_t connection) {
  net::Request read;
  read.verb = verb;
  read.key = key;
  read.only_connection = connection;
  return read;
}

// What a heartbeat is when the entry says already what it is to say: another
// CAS number. Takes no memory. `key` outlives it.
net::Request RenewalOf(const std::string& key) {
  net::Request renewal;
  renewal.verb = net::Verb::kRenew;
  renewal.key = key;
  renewal.exptime = kEntryLivesFor;
  return renewal;
}

// An empty stub or a broken record is as good as none.
void NoteView(Session& session, net::ServerLink& link, const net::Request& read,
              MemberRecords& records) {
  const Result<DecodedView> shown = session.cluster().stamps.Decode(read.value);
  if (IsOtherFormat(shown)) {
    records.refusal = OtherFormat(link, shown.error());
    return;
  }
  records.view.stamp = read.item_token;
  if (!Planted(PlantedBug::kStampWithoutRecord) || records.view.epoch == 0) {
    records.view.epoch = shown ? shown->view->epoch : 0;
    records.view.hash = shown ? shown->hash : 0;
  }
  session.cluster().stamps.SetView(link.member(), records.boot, records.view);
}

void NoteRegistry(Session& session, net::ServerLink& link,
                  const net::Request& read, MemberRecords& records) {
  Result<Registry> registry = DecodeRegistry(read.value);
  if (IsOtherFormat(registry)) {
    records.refusal = OtherFormat(link, registry.error());
    return;
  }
  records.registry = {read.item_token,
                      std::make_shared<const Registry>(
                          registry ? std::move(*registry) : Registry())};
  session.cluster().stamps.SetRegistry(link.member(), records.boot,
                                       records.registry);
}

// Another process came or went at the same time. Where many do, most are to
// wait while one gets through.
Task<void> GiveWay(Session& session, std::size_t listed) {
  constexpr std::chrono::microseconds kForEach(500);
  const std::shared_ptr<Wakeup> nap = Wakeup::New(session.runtime());
  const auto turns =
      static_cast<int>(session.runtime().Random() % (listed + 1));
  (void)co_await nap->Wait(turns * kForEach);
}

// Processes of an older version that are there, as far as is known.
std::string OlderThere(Session& session, int member, const Registry& registry,
                       net::TimePoint asked) {
  Lease& lease = session.cluster().lease;
  std::string labels;
  for (const OlderParticipant& older : registry.older) {
    lease.Observe(member, older.id, {older.heartbeat, 1},
                  session.runtime().Now());
    if (lease.IsGone(older.id, asked, kOlderGoneAfter)) continue;
    labels += (labels.empty() ? "" : ", ") + older.label;
  }
  return labels;
}

}  // namespace

Task<MemberRecords> ReadRecords(Session& session, net::ServerLink& link,
                                std::uint64_t connection, net::Request* ahead,
                                SendStep step) {
  MemberRecords records;
  net::Request registry = Read(net::Verb::kHead, kParticipantsKey, connection);
  net::Request view = Read(net::Verb::kHead, kViewKey, connection);
  Batch batch(session.runtime());
  if (ahead != nullptr) {
    ahead->only_connection = connection;
    batch.Send(step, link, *ahead);
  }
  batch.Send(SendStep::kReadParticipants, link, registry);
  batch.Send(SendStep::kReadView, link, view);
  co_await batch;
  const std::uint64_t used = ConnectionOf(link, {ahead, &registry, &view});
  if (used == 0) co_return records;
  records.boot = link.facts().boot_mark;
  const MemberStamps& stamps = session.cluster().stamps;
  records.view = stamps.ViewOn(link.member(), records.boot);
  records.registry = stamps.RegistryOn(link.member(), records.boot);
  const bool view_moved =
      view.outcome == Outcome::kOk && view.item_token != records.view.stamp;
  const bool registry_moved = registry.outcome == Outcome::kOk &&
                              (!records.registry.registry ||
                               registry.item_token != records.registry.stamp);
  if (view.outcome != Outcome::kOk) records.view = StampedView();
  if (registry.outcome != Outcome::kOk) {
    records.registry = {0, std::make_shared<const Registry>()};
  }
  if (view_moved || registry_moved) {
    registry = Read(net::Verb::kGet, kParticipantsKey, used);
    view = Read(net::Verb::kGet, kViewKey, used);
    if (registry_moved) {
      batch.Send(SendStep::kReadParticipants, link, registry);
    }
    if (view_moved) batch.Send(SendStep::kReadView, link, view);
    co_await batch;
    if (ConnectionOf(link, {registry_moved ? &registry : nullptr,
                            view_moved ? &view : nullptr}) != used) {
      co_return records;
    }
    if (registry_moved) NoteRegistry(session, link, registry, records);
    if (view_moved) NoteView(session, link, view, records);
    if (!records.refusal.ok()) co_return records;
  }
  records.view_bytes = view.item_bytes;
  records.registry_bytes = registry.item_bytes;
  records.connection = used;
  co_return records;
}

bool ListsSelf(Session& session, const MemberRecords& records) {
  const Participant self =
      session.cluster().lease.Self(session.runtime().Random());
  return records.registry.registry->Lists(self.id) ||
         Planted(PlantedBug::kRegistryForgetsJoiner);
}

Task<RenewedEntry> RenewEntry(Session& session, net::ServerLink& link) {
  const Participant self =
      session.cluster().lease.Self(session.runtime().Random());
  const std::string key = EntryKey(self.id);
  net::Request renewal = RenewalOf(key);
  RenewedEntry renewed;
  renewed.sent = session.runtime().Now();
  renewed.lease_for = OwnTerms(session, link).lease_for;
  renewed.records = co_await ReadRecords(session, link, 0, &renewal);
  renewed.there = renewed.records.connection != 0 &&
                  renewal.outcome == Outcome::kOk &&
                  ListsSelf(session, renewed.records);
  co_return renewed;
}

EntryTerms OwnTerms(Session& session, const net::ServerLink& link) {
  return session.cluster().stamps.OwnTermsOn(link.member(),
                                             link.facts().boot_mark);
}

void NoteRenewed(Session& session, const net::ServerLink& link,
                 net::TimePoint sent, std::chrono::milliseconds lease_for) {
  session.cluster().lease.Renewed(
      link.member(), sent,
      std::min(lease_for, OwnTerms(session, link).lease_for));
}

void KeepRoomFor(Session& session, net::ServerLink& link,
                 const MemberRecords& records) {
  if (link.facts().evictions) return;
  SpareRoom& room = session.spare_room();
  // One that is not there comes with its room.
  if (records.view_bytes > 0 && !room.Has(link, kViewKey, 1)) {
    KeepRoom(session, link, kViewKey, records.view_bytes);
  }
  if (records.registry_bytes > 0 && !room.Has(link, kParticipantsKey, 1)) {
    KeepRoom(session, link, kParticipantsKey, records.registry_bytes);
  }
  if (!room.Has(link, kEntryPrefix, 1)) {
    KeepRoom(session, link, kEntryPrefix, EncodeEntry({}).size());
  }
}

namespace {

// What there is on a member before this process puts its own there.
struct Before {
  std::uint64_t connection = 0;   // 0: no answer
  std::uint64_t entry_token = 0;  // 0: it has no entry there
  bool renewed = false;           // the entry is there as it is to be
  MemberRecords records;
};

Task<Before> ReadBefore(Session& session, net::ServerLink& link,
                        const std::string& own_key, bool as_it_is, bool comes) {
  // Another CAS number: what takes this process off the list by an earlier one
  // is refused.
  net::Request renew = Read(net::Verb::kRenew, kParticipantsKey, 0);
  net::Request registry = Read(net::Verb::kVivify, kParticipantsKey, 0);
  net::Request own =
      as_it_is ? RenewalOf(own_key) : Read(net::Verb::kGet, own_key, 0);
  Batch batch(session.runtime());
  if (comes) batch.Send(SendStep::kReadParticipants, link, renew);
  batch.Send(SendStep::kReadParticipants, link, registry);
  batch.Send(SendStep::kReadParticipants, link, own);
  co_await batch;
  Before before;
  const std::uint64_t used =
      ConnectionOf(link, {comes ? &renew : nullptr, &registry, &own});
  if (used == 0 || !IsThere(registry)) co_return before;
  before.records.boot = link.facts().boot_mark;
  before.renewed = as_it_is && own.outcome == Outcome::kOk;
  if (own.outcome == Outcome::kOk) before.entry_token = own.item_token;
  NoteRegistry(session, link, registry, before.records);
  before.connection = used;
  co_return before;
}

// One of the cluster's records, or an entry, which had that CAS number; 0: none
// was there. `behind` is read behind it, if not null.
Task<Outcome> Write(Session& session, net::ServerLink& link, SendStep step,
                    std::string_view key, const std::string& text,
                    std::int64_t lives_for, std::uint64_t token,
                    std::uint64_t connection, net::Request* behind = nullptr) {
  const iovec body{const_cast<char*>(text.data()), text.size()};
  net::Request write =
      Read(token != 0 ? net::Verb::kCas : net::Verb::kSet, key, connection);
  write.token = token;
  write.exptime = lives_for;
  write.body = {&body, 1};
  co_await WriteRecord(session, step, link, write, behind);
  co_return write.outcome;
}

// Has the registry list this process, too.
Task<Outcome> Enlist(Session& session, net::ServerLink& link,
                     const Participant& self, const Before& before) {
  const StampedRegistry& there = before.records.registry;
  const bool forgets = Planted(PlantedBug::kRegistryForgetsJoiner) &&
                       !there.registry->participants.empty();
  if (there.registry->Lists(self.id) || forgets) co_return Outcome::kOk;
  std::vector<Participant> participants = there.registry->participants;
  participants.push_back(self);
  const std::string text = EncodeRegistry(participants);
  // For its stamp.
  net::Request read =
      Read(net::Verb::kGet, kParticipantsKey, before.connection);
  const Outcome written = co_await Write(
      session, link, SendStep::kWriteParticipants, kParticipantsKey, text, 0,
      there.stamp, before.connection, &read);
  session.cluster().stamps.SetRegistry(link.member(), before.records.boot, {});
  if (written == Outcome::kOk && read.outcome == Outcome::kOk) {
    MemberRecords records;
    records.boot = before.records.boot;
    NoteRegistry(session, link, read, records);
  }
  co_return written;
}

Status OlderVersion(const std::string& older, const net::ServerLink& link,
                    const Session& session) {
  return {StatusCode::kUnavailable,
          fmt::format("{}: an older version of this library is in use by {}, "
                      "which cannot share the cluster: end it",
                      session.member_name(link.member()), older)};
}

}  // namespace

Task<Placement> PlaceEntry(Session& session, net::ServerLink& link,
                           std::uint64_t epoch, bool comes) {
  ClusterState& cluster = session.cluster();
  const Participant self = cluster.lease.Self(session.runtime().Random());
  const std::string key = EntryKey(self.id);
  Placement placement;
  for (int i = 0; i < kWriteTries; ++i) {
    placement.sent = session.runtime().Now();
    const bool as_it_is =
        i == 0 && OwnTerms(session, link) == cluster.lease.TermsOfEntry(epoch);
    const Before before =
        co_await ReadBefore(session, link, key, as_it_is, comes);
    placement.refusal = before.records.refusal;
    if (before.connection == 0 || !placement.refusal.ok()) break;
    const std::string older =
        OlderThere(session, link.member(), *before.records.registry.registry,
                   placement.sent);
    if (!older.empty()) {
      placement.refusal = OlderVersion(older, link, session);
      break;
    }
    Outcome written = co_await Enlist(session, link, self, before);
    if (written == Outcome::kExists) {
      co_await GiveWay(session,
                       before.records.registry.registry->participants.size());
      continue;
    }
    if (written != Outcome::kOk) break;
    if (before.renewed) {
      placement.connection = before.connection;
      placement.lease_for = OwnTerms(session, link).lease_for;
      break;
    }
    if (as_it_is) continue;  // it is not there
    const Entry entry = cluster.lease.NextEntry(epoch);
    const std::string text = EncodeEntry(entry);
    // From now on it is not known which of the two is there.
    cluster.stamps.SetOwnTerms(link.member(), before.records.boot, {});
    cluster.lease.Shorten(link.member(), entry.terms.lease_for);
    written =
        co_await Write(session, link, SendStep::kWriteParticipants, key, text,
                       kEntryLivesFor, before.entry_token, before.connection);
    // The one that was there has just run out, or was dropped.
    if (written == Outcome::kExists || written == Outcome::kMiss) continue;
    if (written != Outcome::kOk) break;
    cluster.stamps.SetOwnTerms(link.member(), before.records.boot, entry.terms);
    placement.connection = before.connection;
    placement.lease_for = entry.terms.lease_for;
    break;
  }
  co_return placement;
}

namespace {

// A registry without these processes in place of `before`, which has that
// stamp. What came of it.
Task<Outcome> WriteWithout(Session& session, net::ServerLink& link,
                           const std::vector<std::uint64_t>& ids,
                           const Registry& before, std::uint64_t stamp,
                           std::uint64_t connection) {
  std::vector<Participant> left = before.participants;
  std::erase_if(left, [&ids](const Participant& participant) {
    return std::find(ids.begin(), ids.end(), participant.id) != ids.end();
  });
  if (left.size() == before.participants.size()) co_return Outcome::kOk;
  const std::string text = EncodeRegistry(left);
  co_return co_await Write(session, link, SendStep::kLeaveParticipants,
                           kParticipantsKey, text, 0, stamp, connection);
}

Task<void> DropEntries(Session& session, net::ServerLink& link,
                       const std::vector<std::uint64_t>& ids) {
  std::deque<std::string> keys;
  std::deque<net::Request> drops;
  Batch batch(session.runtime());
  for (const std::uint64_t id : ids) {
    net::Request& drop = drops.emplace_back();
    drop.verb = net::Verb::kDelete;
    drop.key = keys.emplace_back(EntryKey(id));
    batch.Send(SendStep::kLeaveParticipants, link, drop);
  }
  co_await batch;
}

}  // namespace

Task<void> TakeOff(Session& session, net::ServerLink& link,
                   std::vector<std::uint64_t> ids, const MemberRecords* seen) {
  if (seen != nullptr) {
    const Outcome written =
        co_await WriteWithout(session, link, ids, *seen->registry.registry,
                              seen->registry.stamp, seen->connection);
    if (written == Outcome::kOk) co_await DropEntries(session, link, ids);
    co_return;
  }
  for (int i = 0; i < kWriteTries; ++i) {
    net::Request read = Read(net::Verb::kGet, kParticipantsKey, 0);
    Batch batch(session.runtime());
    batch.Send(SendStep::kReadParticipants, link, read);
    co_await batch;
    if (read.outcome != Outcome::kOk) break;
    const Result<Registry> there = DecodeRegistry(read.value);
    if (!there) break;
    const Outcome written = co_await WriteWithout(
        session, link, ids, *there, read.item_token, read.connection);
    if (written != Outcome::kExists) break;
    co_await GiveWay(session, there->participants.size());
  }
  co_await DropEntries(session, link, ids);
}

}  // namespace ers::store
