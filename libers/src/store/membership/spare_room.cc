#include "store/membership/spare_room.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/session.h"
#include "store/membership/view_checks.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// So often a rival may take the memory that was given up.
constexpr int kPairs = 3;
// Of servers at a time.
constexpr int kMaxTakers = 8;
// memcached's slab classes grow by a quarter.
constexpr std::size_t kNextClass = 4;

// All entries share their spare items.
std::string_view SpareName(std::string_view record) {
  return record.starts_with(kEntryPrefix)
             ? std::string_view("entry")
             : record.substr(kReservedPrefix.size());
}

std::string SpareKey(std::string_view record, int pair, bool larger) {
  return fmt::format("{}.{}{}", kSparePrefix, SpareName(record),
                     2 * pair + (larger ? 1 : 0));
}

std::size_t SpareBytes(std::size_t record, bool larger) {
  return larger ? record + record / kNextClass : record;
}

std::size_t BytesOf(const net::Request& write) {
  std::size_t bytes = 0;
  for (const iovec& piece : write.body) bytes += piece.iov_len;
  return bytes;
}

// What all spare items beside a record of so many bytes begin with.
std::string Filler(std::size_t bytes) {
  return std::string(SpareBytes(bytes, /*larger=*/true), '-');
}

// One spare item, and the requests about it. `filler` outlives it.
struct Spare {
  Spare(std::string_view record, int pair, bool larger, std::size_t bytes,
        std::string& filler)
      : key(SpareKey(record, pair, larger)),
        piece{filler.data(), SpareBytes(bytes, larger)} {
    probe.verb = net::Verb::kHead;
    drop.verb = net::Verb::kDelete;
    set.verb = net::Verb::kSet;
    for (net::Request* request : {&probe, &drop, &set}) request->key = key;
    set.body = {&piece, 1};
  }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

  std::string key;
  iovec piece;
  net::Request probe;
  net::Request drop;
  net::Request set;
};

// Takes what is missing of the room beside a record.
Task<void> TakeRoom(Session& session, int member, std::string_view record,
                    std::size_t bytes) {
  const SendStep step =
      record == kViewKey ? SendStep::kWriteView : SendStep::kWriteParticipants;
  net::ServerLink& link = session.link(member);
  std::string filler = Filler(bytes);
  std::deque<Spare> spares;
  Batch batch(session.runtime());
  for (int pair = 0; pair < kPairs; ++pair) {
    for (const bool larger : {false, true}) {
      Spare& spare = spares.emplace_back(record, pair, larger, bytes, filler);
      batch.Send(step, link, spare.probe);
    }
  }
  co_await batch;
  for (Spare& spare : spares) {
    const bool there = spare.probe.outcome == Outcome::kOk &&
                       spare.probe.item_bytes >= spare.piece.iov_len;
    if (there || !net::Answered(spare.probe.outcome)) continue;
    batch.Send(step, link, spare.set);
  }
  co_await batch;
  bool full = false;
  for (const Spare& spare : spares) {
    full |= spare.set.outcome == Outcome::kNoMemory;
  }
  if (!full || !session.spare_room().Complain(member)) co_return;
  session.cluster().Log(
      LogLevel::kWarning,
      fmt::format("{} is too full to keep room for the records of the cluster: "
                  "should it fill up further, a change of the view may fail "
                  "for want of memory; delete something, or give it more (-m)",
                  session.member_name(member)));
}

// Calls wait for a change of the view, and for a lease to begin: that goes
// first.
Task<void> AwaitQuiet(Session& session) {
  co_await AwaitChange(session);
  Lease& lease = session.cluster().lease;
  const std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
  if (lease.BeginPlacing(wakeup->Callback())) {
    lease.EndPlacing();
    co_return;
  }
  (void)co_await wakeup->Wait(session.cluster().options.operation_timeout);
}

Task<void> TakeRooms(Session& session) {
  while (!session.closing()) {
    const std::optional<SpareRoom::Wanted> next = session.spare_room().Next();
    if (!next) co_return;
    co_await AwaitQuiet(session);
    co_await TakeRoom(session, next->member, next->record, next->bytes);
  }
}

}  // namespace

bool SpareRoom::Has(const net::ServerLink& link, std::string_view record,
                    std::size_t bytes) const {
  const auto known =
      known_.find({link.member(), std::string(SpareName(record))});
  return known != known_.end() &&
         known->second.connection == link.connection() &&
         known->second.bytes >= bytes;
}

void SpareRoom::Note(const net::ServerLink& link, std::string_view record,
                     std::size_t bytes) {
  known_[{link.member(), std::string(SpareName(record))}] = {link.connection(),
                                                             bytes};
}

void SpareRoom::Forget(const net::ServerLink& link, std::string_view record) {
  known_.erase({link.member(), std::string(SpareName(record))});
}

bool SpareRoom::Complain(int member) {
  return !std::exchange(complained_[member], true);
}

bool SpareRoom::Want(const Wanted& room) {
  wanted_.push_back(room);
  if (takers_ == kMaxTakers) return false;
  ++takers_;
  return true;
}

std::optional<SpareRoom::Wanted> SpareRoom::Next() {
  if (wanted_.empty()) {
    --takers_;
    return std::nullopt;
  }
  const Wanted next = wanted_.front();
  wanted_.pop_front();
  return next;
}

Task<void> WriteRecord(Session& session, SendStep step, net::ServerLink& link,
                       net::Request& write, net::Request* behind) {
  const std::string_view record =
      write.key.starts_with(kEntryPrefix) ? kEntryPrefix : write.key;
  const std::size_t bytes = BytesOf(write);
  Batch batch(session.runtime());
  batch.Send(step, link, write);
  if (behind != nullptr) batch.Send(SendStep::kReadView, link, *behind);
  co_await batch;
  for (int pair = 0; pair < kPairs && write.outcome == Outcome::kNoMemory;
       ++pair) {
    std::string filler = Filler(bytes);
    Spare same(record, pair, /*larger=*/false, bytes, filler);
    Spare next(record, pair, /*larger=*/true, bytes, filler);
    for (Spare* spare : {&same, &next}) batch.Send(step, link, spare->drop);
    batch.Send(step, link, write);
    for (Spare* spare : {&same, &next}) batch.Send(step, link, spare->set);
    if (behind != nullptr) batch.Send(SendStep::kReadView, link, *behind);
    co_await batch;
    session.spare_room().Forget(link, record);
  }
  if (write.outcome == Outcome::kOk) KeepRoom(session, link, record, bytes);
}

void KeepRoom(Session& session, net::ServerLink& link, std::string_view record,
              std::size_t bytes) {
  SpareRoom& room = session.spare_room();
  // Only on the session's own link: others end with a change of the view.
  const bool keeps = !session.closing() &&
                     link.state() == net::ServerLink::State::kUp &&
                     &session.link(link.member()) == &link &&
                     !link.facts().evictions && !room.Has(link, record, bytes);
  if (!keeps) return;
  // The larger ones are for a record that has grown by so much.
  room.Note(link, record, bytes + bytes / kNextClass);
  if (room.Want({link.member(), record, bytes})) {
    session.Detach(TakeRooms(session));
  }
}

}  // namespace ers::store
