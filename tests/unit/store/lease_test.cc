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

// Its line is sent, and taken by members `first` to `last`.
void Renew(Lease& lease, const View& view, int first, int last,
           net::TimePoint now) {
  lease.WithOwnEntry({}, view.epoch, now, /*random=*/77);
  for (int i = first; i <= last; ++i) lease.Renewed(i, now);
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

TEST_CASE("the members that took the line last do not make up for the others") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 5, 2);
  Renew(lease, view, 0, 2, kStart);
  Renew(lease, view, 1, 2, kStart + seconds(1));
  CHECK_FALSE(lease.Holds(kStart + kLeaseFor));
  Renew(lease, view, 4, 4, kStart + seconds(1));
  CHECK(lease.Holds(kStart + kLeaseFor));
}

// Those may be taken in again, empty, with f others.
TEST_CASE("with members down as many of the others must take the line") {
  Lease lease("process 1 on h");
  const View view = MakeView(3, 5, 2, /*down=*/1);
  Renew(lease, view, 0, 2, kStart);  // the first is down
  CHECK_FALSE(lease.Holds(kStart));
  Renew(lease, view, 3, 3, kStart);
  CHECK(lease.Holds(kStart));
}

TEST_CASE("where no more than f are left all of them must take the line") {
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

// Invariant V1.
TEST_CASE(
    "a participant that has not followed is waited for, until it is gone") {
  Lease lease("process 1 on h");
  const std::vector<Participant> participants = {{5, 3, 9, "a"},
                                                 {6, 4, 2, "b"}};
  lease.Observe(participants, kStart);
  const std::vector<Participant> behind = lease.Behind(participants, 4, kStart);
  REQUIRE(behind.size() == 1);
  CHECK(behind[0].id == 5);
  // Seeing the same again is no heartbeat.
  lease.Observe(participants, kStart + seconds(4));
  CHECK(lease.Behind(participants, 4, kStart + kGoneAfter - milliseconds(1))
            .size() == 1);
  CHECK(lease.Behind(participants, 4, kStart + kGoneAfter).empty());
  const std::vector<Participant> moved = {{5, 3, 10, "a"}};
  CHECK(lease.Behind(moved, 4, kStart + kGoneAfter).size() == 1);
  lease.Observe(moved, kStart + kGoneAfter);
  CHECK(lease.Behind(moved, 4, kStart + kGoneAfter + seconds(4)).size() == 1);
  const std::vector<Participant> followed = {{5, 4, 11, "a"}};
  CHECK(lease.Behind(followed, 4, kStart).empty());
}

TEST_CASE("a lease outlives the longest silence by seconds") {
  CHECK(kGoneAfter - kLeaseFor >= seconds(3));
  CHECK(kLeaseFor >= 4 * kHeartbeatEvery);
}

TEST_CASE("the record keeps others' lines and drops those of the gone") {
  Lease lease("process 1 on h");
  const std::vector<Participant> participants = {{5, 3, 9, "a"},
                                                 {6, 3, 2, "b"}};
  lease.Observe(participants, kStart);
  std::vector<Participant> record =
      lease.WithOwnEntry(participants, 3, kStart, 77);
  REQUIRE(record.size() == 3);
  CHECK(record[2].id == 77);
  CHECK(record[2].epoch == 3);
  CHECK(record[2].label == "process 1 on h");
  const std::uint64_t heartbeat = record[2].heartbeat;
  lease.Observe({{6, 3, 3, "b"}}, kStart + seconds(3));
  record = lease.WithOwnEntry(record, 3, kStart + kGoneAfter, 78);
  REQUIRE(record.size() == 2);
  CHECK(record[0].id == 6);
  CHECK(record[1].id == 77);
  CHECK(record[1].heartbeat > heartbeat);
  CHECK(lease.WithoutOwnEntry(record).size() == 1);
}

TEST_CASE(
    "a record of participants survives its writing, and shows a broken one") {
  const std::vector<Participant> participants = {
      {~std::uint64_t{0}, 3, 9, "process 1 on h"}, {6, 1, 2, ""}};
  const std::string text = EncodeParticipants(participants);
  const Result<std::vector<Participant>> back = DecodeParticipants(text);
  REQUIRE(back);
  REQUIRE(back->size() == 2);
  CHECK((*back)[0].id == ~std::uint64_t{0});
  CHECK((*back)[0].heartbeat == 9);
  CHECK((*back)[0].label == "process 1 on h");
  CHECK((*back)[1].epoch == 1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string broken = text;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    CHECK_FALSE(DecodeParticipants(broken));
  }
  CHECK(DecodeParticipants("").error().code() == StatusCode::kNotManaged);
}

TEST_CASE("of two lines of a process the newer one counts") {
  std::vector<Participant> participants = {{5, 3, 9, "a"}};
  MergeParticipants({{5, 2, 8, "a"}, {6, 1, 1, "b"}}, participants);
  REQUIRE(participants.size() == 2);
  CHECK(participants[0].heartbeat == 9);
  MergeParticipants({{5, 4, 10, "a"}}, participants);
  CHECK(participants[0].epoch == 4);
}

}  // namespace
}  // namespace ers::store
