// What one member has of the records that processes share, read by their
// stamps, and what this process puts there: its line in the registry and its
// entry. Heartbeats to all members are made of these (participants.h).
#ifndef ERS_STORE_MEMBERSHIP_MEMBER_RECORDS_H_
#define ERS_STORE_MEMBERSHIP_MEMBER_RECORDS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/request.h"
#include "net/server_link.h"
#include "net/task.h"
#include "store/membership/member_stamps.h"
#include "store/membership/send.h"
#include "store/membership/session.h"

namespace ers::store {

struct MemberRecords {
  std::uint64_t connection = 0;  // over which all of it came; 0: none did
  std::string boot;              // the memory that has it
  StampedView view;
  StampedRegistry registry;    // an empty one where the member has none
  std::size_t view_bytes = 0;  // of the items; 0: there is none
  std::size_t registry_bytes = 0;
  Status refusal;  // a record of a newer format: this process must not go on
};

// The records behind `ahead`, which is sent first on the same connection, as
// that step, if not null. `connection`: no other than that, if not 0.
net::Task<MemberRecords> ReadRecords(
    Session& session, net::ServerLink& link, std::uint64_t connection,
    net::Request* ahead, SendStep step = SendStep::kWriteParticipants);

// The entry moved there, as it is, and the records behind that.
struct RenewedEntry {
  net::TimePoint sent;
  std::chrono::milliseconds lease_for{};  // as it said then
  // It was there, and the member lists this process. False with a connection in
  // `records`: the member has lost one of the two.
  bool there = false;
  MemberRecords records;
};
net::Task<RenewedEntry> RenewEntry(Session& session, net::ServerLink& link);

// What this process's own entry says there, as far as is known.
EntryTerms OwnTerms(Session& session, const net::ServerLink& link);

// The lease may go by a heartbeat that was sent at `sent`, when the entry there
// said that leases are so long, unless they are to be shorter since.
void NoteRenewed(Session& session, const net::ServerLink& link,
                 net::TimePoint sent, std::chrono::milliseconds lease_for);

bool ListsSelf(Session& session, const MemberRecords& records);

struct Placement {
  std::uint64_t connection = 0;  // over which it was done; 0: it was not
  net::TimePoint sent;           // before the first message of it
  std::chrono::milliseconds lease_for{};  // as the entry says now
  Status refusal;  // a newer format, or processes of an older version
};

// Lists this process in the member's registry, and writes its entry there, for
// a view of that epoch. `comes`: the process has no lease, so that others may
// be about to take it off the list; they are not, from then on.
net::Task<Placement> PlaceEntry(Session& session, net::ServerLink& link,
                                std::uint64_t epoch, bool comes);

// Room beside what `records` shows, and the entries, where the member does not
// evict.
void KeepRoomFor(Session& session, net::ServerLink& link,
                 const MemberRecords& records);

// Takes processes off the member's list, then drops their entries. `seen`, if
// not null: only while the registry is as it was read then.
net::Task<void> TakeOff(Session& session, net::ServerLink& link,
                        std::vector<std::uint64_t> ids,
                        const MemberRecords* seen);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_MEMBER_RECORDS_H_
