#include "store/membership/lease.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

namespace ers::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr net::TimePoint kStart{std::chrono::hours(1)};

View MakeView(std::uint64_t epoch, int members, int max_failures,
              int down = 0) {
  View view;
  view.epoch = epoch;
  view.max_failures = max_failures;
  view.members.resize(static_cast<std::size_t>(members));
  for (int i = 0; i < down; ++i) view.members[i].state = MemberState::kDown;
  return view;
}

// Its entry is sent, and taken by members `first` to `last`.
void Renew(Lease& lease, const View& view, int first, int last,
           net::TimePoint now, milliseconds lease_for = kLeaseFor) {
  (void)lease.NextEntry(view.epoch);
  for (int i = first; i <= last; ++i) lease.Renewed(i, now, lease_for);
  lease.Confirm(view);
}

// Invariant V4.
TEST_CASE("a lease begins with enough members and runs out by itself") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 5, 2);
  CHECK_FALSE(lease.Holds(kStart));
  // Changes of the view may do without any two.
  Renew(lease, view, 0, 1, kStart);
  CHECK_FALSE(lease.Holds(kStart));
  Renew(lease, view, 2, 2, kStart);
  CHECK(lease.Holds(kStart));
  CHECK(lease.Holds(kStart + kLeaseFor - milliseconds(1)));
  CHECK_FALSE(lease.Holds(kStart + kLeaseFor));
}

TEST_CASE(
    "the members that took the entry last do not make up for the others") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 5, 2);
  Renew(lease, view, 0, 2, kStart);
  Renew(lease, view, 1, 2, kStart + milliseconds(200));
  CHECK_FALSE(lease.Holds(kStart + kLeaseFor));
  Renew(lease, view, 4, 4, kStart + milliseconds(200));
  CHECK(lease.Holds(kStart + kLeaseFor));
}

// Those may be taken in again, empty, with f others.
TEST_CASE("with members down as many of the others must take the entry") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 5, 2, /*down=*/1);
  Renew(lease, view, 0, 2, kStart);  // the first is down
  CHECK_FALSE(lease.Holds(kStart));
  Renew(lease, view, 3, 3, kStart);
  CHECK(lease.Holds(kStart));
}

TEST_CASE("where no more than f are left all of them must take the entry") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 2, 1, /*down=*/1);
  Renew(lease, view, 0, 0, kStart);
  CHECK_FALSE(lease.Holds(kStart));
  Renew(lease, view, 1, 1, kStart);
  CHECK(lease.Holds(kStart));
}

// Invariant V4.
TEST_CASE("a change of the view ends the lease until it is in force") {
  Lease lease("process 1 on h");
  Renew(lease, MakeView(3, 3, 1), 0, 2, kStart);
  REQUIRE(lease.Holds(kStart));
  lease.RaiseEpoch(4);
  CHECK_FALSE(lease.Holds(kStart));
  // Given up: the old view is none to go by any more.
  lease.Confirm(MakeView(3, 3, 1));
  CHECK_FALSE(lease.Holds(kStart));
  lease.Confirm(MakeView(4, 3, 1));
  CHECK(lease.Holds(kStart));
}

// Invariant V4.
TEST_CASE("a lease is as long as enough entries say") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 5, 2);
  Renew(lease, view, 0, 1, kStart, kLongLeaseFor);
  Renew(lease, view, 2, 4, kStart, kLeaseFor);
  CHECK_FALSE(lease.Holds(kStart + kLeaseFor));
  Renew(lease, view, 3, 3, kStart, kLongLeaseFor);
  CHECK(lease.Holds(kStart + kLongLeaseFor - milliseconds(1)));
  CHECK_FALSE(lease.Holds(kStart + kLongLeaseFor));
}

// Invariant V4.
TEST_CASE("a lease is short before an entry says so") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 3, 1);
  Renew(lease, view, 0, 2, kStart, kLongLeaseFor);
  lease.Shorten(0, kLeaseFor);
  CHECK(lease.Holds(kStart + kLongLeaseFor - milliseconds(1)));
  lease.Shorten(1, kLeaseFor);
  CHECK(lease.Holds(kStart + kLeaseFor - milliseconds(1)));
  CHECK_FALSE(lease.Holds(kStart + kLeaseFor));
  CHECK(*lease.leaves_before() ==
        (kStart + kLeaseFor).time_since_epoch().count());
}

TEST_CASE("leases are long where servers are slow, until they are fast") {
  Lease lease("process 1 on h");
  CHECK(lease.term() == kLeaseFor);
  lease.ChooseTerm(milliseconds(99));
  CHECK(lease.term() == kLeaseFor);
  lease.ChooseTerm(milliseconds(100));
  CHECK(lease.TermsOfEntry(3) == EntryTerms{3, kLongLeaseFor});
  lease.ChooseTerm(milliseconds(50));
  CHECK(lease.term() == kLongLeaseFor);
  lease.ChooseTerm(milliseconds(49));
  CHECK(lease.NextEntry(3).terms == EntryTerms{3, kLeaseFor});
}

// Invariant V1.
TEST_CASE("a process is gone after what its entry says on any member") {
  constexpr std::uint64_t kOther = 5;
  Lease lease("process 1 on h");
  lease.Observe(0, kOther, {1, 10, kLongLeaseFor}, kStart);
  lease.Observe(1, kOther, {2, 20, kLeaseFor}, kStart);
  CHECK_FALSE(lease.IsGone(kOther, kStart + kLongGoneAfter - milliseconds(1)));
  CHECK(lease.IsGone(kOther, kStart + kLongGoneAfter));
  CHECK_FALSE(lease.IsGone(kOther, kStart + kLongGoneAfter, kTakenOffAfter));
  lease.Observe(0, kOther, {3, 30, kLeaseFor}, kStart + seconds(9));
  CHECK(lease.IsGone(kOther, kStart + seconds(9) + kGoneAfter));
}

// Invariant V1.
TEST_CASE("a process is gone once its entry stands still on all members") {
  constexpr std::uint64_t kOther = 5;
  Lease lease("process 1 on h");
  // Of which nothing was seen yet.
  CHECK_FALSE(lease.IsGone(kOther, kStart + kGoneAfter));
  lease.Observe(0, kOther, {1, 10}, kStart);
  lease.Observe(1, kOther, {1, 20}, kStart);
  // Seeing the same again is no heartbeat.
  lease.Observe(0, kOther, {1, 10}, kStart + kGoneAfter / 2);
  CHECK_FALSE(lease.IsGone(kOther, kStart + kGoneAfter - milliseconds(1)));
  CHECK(lease.IsGone(kOther, kStart + kGoneAfter));
  // Another CAS number on one of them is one.
  lease.Observe(1, kOther, {1, 21}, kStart + kGoneAfter);
  CHECK_FALSE(lease.IsGone(kOther, kStart + kGoneAfter + kGoneAfter / 2));
  CHECK(lease.IsGone(kOther, kStart + 2 * kGoneAfter));
}

TEST_CASE("an answer counts by when it was asked for") {
  constexpr std::uint64_t kOther = 5;
  Lease lease("process 1 on h");
  lease.Observe(0, kOther, {1, 10}, kStart);
  // This process stood still while the answer lay there.
  const net::TimePoint asked = kStart + kGoneAfter / 2;
  lease.Observe(0, kOther, {1, 10}, kStart + 2 * kGoneAfter);
  CHECK_FALSE(lease.IsGone(kOther, asked));
}

TEST_CASE("what a member shows for the first time is a change") {
  constexpr std::uint64_t kOther = 5;
  Lease lease("process 1 on h");
  lease.Observe(0, kOther, {1, 10}, kStart);
  lease.Observe(1, kOther, {0, 0}, kStart + kGoneAfter);
  CHECK_FALSE(lease.IsGone(kOther, kStart + kGoneAfter));
}

TEST_CASE("a lease ends long before others act, and lasts for heartbeats") {
  CHECK(kLandsWithin >= milliseconds(500));
  CHECK(kLeaseFor >= 4 * kHeartbeatEvery);
  CHECK(kTakenOffAfter >= 4 * kRestingHeartbeatEvery);
}

TEST_CASE("a process that rests gives heartbeats more seldom") {
  Lease lease("process 1 on h");
  lease.NoteCall(kStart);
  CHECK(lease.TakeHeartbeat(kStart));
  CHECK_FALSE(lease.TakeHeartbeat(kStart));
  CHECK_FALSE(lease.TakeHeartbeat(kStart + kHeartbeatEvery - milliseconds(1)));
  CHECK(lease.TakeHeartbeat(kStart + kHeartbeatEvery));
  const net::TimePoint rests = kStart + kRestsAfter;
  CHECK(lease.HeartbeatEvery(rests) == kRestingHeartbeatEvery);
  CHECK(lease.TakeHeartbeat(rests));
  CHECK_FALSE(lease.TakeHeartbeat(rests + kHeartbeatEvery));
  CHECK(lease.TakeHeartbeat(rests + kRestingHeartbeatEvery));
  lease.NoteCall(rests);
  CHECK(lease.HeartbeatEvery(rests) == kHeartbeatEvery);
}

// Invariant V4.
TEST_CASE("what is sent under a lease leaves before it ends") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 3, 1);
  Renew(lease, view, 0, 2, kStart);
  const auto* before = lease.leaves_before();
  CHECK(*before == (kStart + kLeaseFor).time_since_epoch().count());
  Renew(lease, view, 0, 2, kStart + milliseconds(100));
  CHECK(*before ==
        (kStart + milliseconds(100) + kLeaseFor).time_since_epoch().count());
  lease.RaiseEpoch(4);
  CHECK(*before == 0);
}

TEST_CASE("a lease is taken up again while no other drops the process") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 3, 1);
  CHECK_FALSE(lease.MayResume(view, kStart));
  Renew(lease, view, 0, 2, kStart);
  CHECK_FALSE(lease.MayResume(view, kStart));
  lease.Shown(0, kStart);
  CHECK_FALSE(lease.MayResume(view, kStart));
  lease.Shown(1, kStart);
  CHECK(lease.MayResume(view, kStart));
  // Others take off those that have stood still for twice as long.
  CHECK_FALSE(lease.MayResume(view, kStart + kTakenOffAfter / 2));
  CHECK_FALSE(lease.MayResume(MakeView(4, 3, 1), kStart));
  lease.RaiseEpoch(4);
  CHECK_FALSE(lease.MayResume(view, kStart));
}

TEST_CASE("heartbeats under way are counted for each member") {
  Lease lease("process 1 on h");
  lease.BeginAsking(1);
  lease.BeginAsking(1);
  lease.EndAsking(1);
  CHECK(lease.IsAsked(1));
  CHECK_FALSE(lease.IsAsked(0));
  lease.EndAsking(1);
  CHECK_FALSE(lease.IsAsked(1));
}

TEST_CASE("each entry that is written differs from the one before") {
  Lease lease("process 1 on h");
  const Participant self = lease.Self(77);
  CHECK(self.id == 77);
  CHECK(self.label == "process 1 on h");
  CHECK(lease.Self(78).id == 77);
  const Entry first = lease.NextEntry(3);
  CHECK(first.id == 77);
  CHECK(first.terms == EntryTerms{3, kLeaseFor});
  lease.RaiseEpoch(4);
  const Entry next = lease.NextEntry(3);
  CHECK(next.terms == EntryTerms{4, kLeaseFor});
  CHECK(next.count > first.count);
}

TEST_CASE("heartbeats to a few members meet each in turn") {
  Lease lease("process 1 on h");
  CHECK(lease.TakeTurn(3) == 0);
  CHECK(lease.TakeTurn(3) == 3);
  CHECK(lease.TakeTurn(2) == 6);
}

}  // namespace
}  // namespace ers::store
