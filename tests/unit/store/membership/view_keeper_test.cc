#include "store/membership/view_keeper.h"

#include <catch2/catch.hpp>
#include <vector>

namespace ers::store {
namespace {

std::shared_ptr<const View> MakeView(std::uint64_t epoch, int down = -1) {
  View view;
  view.epoch = epoch;
  view.members.resize(3);
  if (down >= 0) view.members[down].state = MemberState::kDown;
  return std::make_shared<const View>(view);
}

// A keeper with view 1 in force.
struct Kept {
  ViewKeeper keeper;
  Kept() {
    REQUIRE(keeper.BeginChange([] {}));
    keeper.EndChange(MakeView(1));
  }
};

// Invariant V1.
TEST_CASE("writes are admitted under the view in force only") {
  ViewKeeper keeper;
  CHECK(keeper.Current() == nullptr);
  CHECK_FALSE(keeper.BeginWrite(1, 0));
  REQUIRE(keeper.BeginChange([] {}));
  const std::uint64_t version = keeper.version();
  keeper.EndChange(MakeView(1));
  CHECK(keeper.Current()->epoch == 1);
  CHECK(keeper.version() != version);
  CHECK_FALSE(keeper.BeginWrite(2, 0));
  CHECK(keeper.BeginWrite(1, 0));
  keeper.EndWrite(0);
  REQUIRE(keeper.BeginChange([] {}));
  CHECK_FALSE(keeper.BeginWrite(1, 0));
  keeper.EndChange(nullptr);
  CHECK(keeper.Current()->epoch == 1);
  CHECK(keeper.BeginWrite(1, 0));
  keeper.EndWrite(0);
}

// Invariant V1.
TEST_CASE_METHOD(Kept,
                 "a change waits for every write but those to leaving members",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 0));
  REQUIRE(keeper.BeginWrite(1, 1));
  REQUIRE(keeper.BeginWrite(1, 2));
  REQUIRE(keeper.BeginChange([] {}));
  int woken = 0;
  CHECK_FALSE(keeper.Drained({2}, [&woken] { ++woken; }));
  keeper.EndWrite(0);
  CHECK(woken == 0);
  keeper.EndWrite(1);
  CHECK(woken == 1);
  keeper.EndChange(MakeView(2, 2));
  keeper.EndWrite(2);
  CHECK(woken == 1);
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "a refused write is woken when the change is over", "") {
  int woken = 0;
  CHECK(keeper.AtRest([&woken] { ++woken; }));
  REQUIRE(keeper.BeginChange([] {}));
  CHECK_FALSE(keeper.AtRest([&woken] { ++woken; }));
  CHECK(woken == 0);
  keeper.EndChange(nullptr);
  CHECK(woken == 1);
}

TEST_CASE_METHOD(Kept, "a write in doubt holds no change up, but its member",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 0));
  REQUIRE(keeper.BeginWrite(1, 1));
  CHECK(keeper.MembersInDoubt().empty());
  REQUIRE(keeper.BeginChange([] {}));
  int woken = 0;
  CHECK_FALSE(keeper.Drained({}, [&woken] { ++woken; }));
  keeper.EndWrite(0);
  CHECK(keeper.PutInDoubt(1, 1));
  CHECK(woken == 1);
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  // The change gave up: the write is still out there.
  keeper.EndChange(nullptr);
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  // A change that leaves the member in keeps it on the list, too.
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(MakeView(2, 0));
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  REQUIRE(keeper.BeginChange([] {}));
  keeper.EndChange(MakeView(3, 1));
  CHECK(keeper.MembersInDoubt().empty());
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "a write in doubt that is resolved lets its member stay",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 1));
  REQUIRE(keeper.BeginWrite(1, 1));
  const ViewKeeper::DoubtId first = *keeper.PutInDoubt(1, 1);
  const ViewKeeper::DoubtId second = *keeper.PutInDoubt(1, 1);
  keeper.Resolve(first);
  CHECK(keeper.IsInDoubt(second));
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  // The member leaves, and takes the other along: it belongs to no member any
  // more.
  REQUIRE(keeper.BeginChange([] {}));
  keeper.EndChange(MakeView(2, 1));
  CHECK_FALSE(keeper.IsInDoubt(second));
  REQUIRE(keeper.BeginWrite(2, 1));
  const ViewKeeper::DoubtId third = *keeper.PutInDoubt(2, 1);
  keeper.Resolve(second);
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  keeper.Resolve(third);
  CHECK(keeper.MembersInDoubt().empty());
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "a write that outlives its view is no more than ended",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 1));
  REQUIRE(keeper.BeginChange([] {}));
  REQUIRE(keeper.Drained({1}, [] {}));
  keeper.EndChange(MakeView(2, 1));
  CHECK_FALSE(keeper.PutInDoubt(1, 1));
  CHECK(keeper.MembersInDoubt().empty());
  // Nor is it waited for.
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "of two changers one waits until the other is done",
                 "") {
  int woken = 0;
  REQUIRE(keeper.BeginChange([] {}));
  CHECK_FALSE(keeper.BeginChange([&woken] { ++woken; }));
  CHECK_FALSE(keeper.BeginChange([&woken] { ++woken; }));
  CHECK(woken == 0);
  // A waiter that is woken may claim the change at once.
  keeper.EndChange(MakeView(2));
  CHECK(woken == 2);
  CHECK(keeper.BeginChange([] {}));
  keeper.EndChange(nullptr);
  CHECK(woken == 2);
}

}  // namespace
}  // namespace ers::store
