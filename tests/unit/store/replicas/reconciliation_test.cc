// What the copies of a key say when they differ.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "store/membership/known_changes.h"
#include "store/replicas/replica_copy.h"

namespace ers::store {
namespace {

using Kind = ReplicaCopy::Kind;

// Three replicas, the primary last, which all have `old`.
struct Copies {
  Copies() {
    view->members.resize(3);
    read.view = view;
    for (int i = 0; i < 3; ++i) {
      ReplicaCopy& copy = read.copies.emplace_back();
      copy.member = i;
      copy.token = 20 + static_cast<std::uint64_t>(i);
      Show(i, Change(1));
    }
  }
  // Made over `before` (0: over nothing).
  static Manifest Change(std::uint64_t id, std::uint64_t before = 0) {
    Manifest manifest;
    manifest.id.time_us = id;
    if (before != 0) manifest.history.push_back(ChangeTag{before, 0});
    return manifest;
  }
  void Show(int replica, const Manifest& manifest) {
    ReplicaCopy& copy = at(replica);
    copy.kind = Kind::kManifest;
    copy.manifest = std::make_shared<const Manifest>(manifest);
  }
  void Lose(int replica, Kind kind) {
    at(replica).kind = kind;
    at(replica).manifest = nullptr;
  }
  ReplicaCopy& at(int replica) {
    return read.copies[static_cast<std::size_t>(replica)];
  }
  // 0: none can.
  std::uint64_t Decides() const {
    const Result<const ReplicaCopy*> copy = DecidingCopy(read, "k");
    return copy ? (*copy)->shown().time_us : 0;
  }

  std::shared_ptr<View> view = std::make_shared<View>();
  ReplicasRead read;
};

// Invariant C1.
TEST_CASE("what the primary shows goes to all replicas, old or new") {
  Copies f;
  f.Show(0, Copies::Change(2, 1));
  f.Show(1, Copies::Change(2, 1));
  CHECK_FALSE(f.read.Agreed());
  CHECK(f.Decides() == 1);
  f.Show(1, Copies::Change(1));
  f.Show(0, Copies::Change(1));
  f.Show(2, Copies::Change(2, 1));
  CHECK(f.Decides() == 2);
  f.Lose(2, Kind::kAbsent);
  const Result<const ReplicaCopy*> none = DecidingCopy(f.read, "k");
  REQUIRE(none);
  CHECK((*none)->manifest == nullptr);
}

TEST_CASE("for a primary's copy that is damaged the one before it stands in") {
  Copies f;
  f.Show(0, Copies::Change(2, 1));
  f.Lose(2, Kind::kCorrupt);
  CHECK(f.Decides() == 1);
  f.Lose(1, Kind::kCorrupt);
  CHECK(f.Decides() == 2);
  f.Lose(1, Kind::kAbsent);
  CHECK(f.Decides() == 0);
}

TEST_CASE("a change proves that the one which it was made over is committed") {
  Copies f;
  CHECK_FALSE(f.read.ProvenByAnother(f.at(2)));
  f.Show(0, Copies::Change(2, 1));
  CHECK(f.read.ProvenByAnother(f.at(1)));
  CHECK(f.read.ProvenByAnother(f.at(2)));
  CHECK_FALSE(f.read.ProvenByAnother(f.at(0)));
}

TEST_CASE("a change is under way where a replica has what it was made over") {
  Copies f;
  CHECK_FALSE(f.read.IsUnderWay());
  f.Show(2, Copies::Change(2, 1));
  CHECK(f.read.IsUnderWay());
  // A rival's is none.
  f.Show(0, Copies::Change(3, 1));
  f.Show(1, Copies::Change(3, 1));
  CHECK_FALSE(f.read.IsUnderWay());
  // The first of a key; but a server that has returned lacks what is old.
  for (int i = 1; i < 3; ++i) f.Show(i, Copies::Change(4));
  f.Lose(0, Kind::kAbsent);
  CHECK(f.read.IsUnderWay());
  f.view->members[0].state = MemberState::kBackfilling;
  CHECK_FALSE(f.read.IsUnderWay());
}

TEST_CASE("of each key the last change is known that was committed") {
  KnownChanges known;
  CHECK_FALSE(known.Has("k", ChangeId()));
  CHECK_FALSE(known.Has("k", ChangeId{1, 7}));
  known.Add("k", ChangeId{1, 7});
  CHECK(known.Has("k", ChangeId{1, 7}));
  CHECK_FALSE(known.Has("k", ChangeId{1, 8}));
  known.Add("k", ChangeId());
  CHECK(known.Has("k", ChangeId{1, 7}));
  known.Add("k", ChangeId{2, 7});
  CHECK(known.Has("k", ChangeId{2, 7}));
  CHECK_FALSE(known.Has("k", ChangeId{1, 7}));
}

}  // namespace
}  // namespace ers::store
