#include "store/format/view_base.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/format/view_order.h"

namespace ers::store {
namespace {

constexpr std::int64_t kNow = 1'000'000;

std::string MarkOf(int member) { return "mark" + std::to_string(member); }

// All are in sync.
View FirstView(int members, int max_failures, std::uint64_t incarnation = 100) {
  View view;
  view.epoch = 10;
  view.max_failures = max_failures;
  for (int i = 0; i < members; ++i) {
    Member& member = view.members.emplace_back();
    member.name = "10.0.0." + std::to_string(i) + ":11211";
    member.incarnation = incarnation;
    member.boot_mark = MarkOf(i);
  }
  return view;
}

View Without(View view, int member) {
  ++view.epoch;
  view.members[static_cast<std::size_t>(member)].state = MemberState::kDown;
  return view;
}

ShownView On(const std::vector<int>& members, const View& view) {
  ShownView shown{view, EncodeView(view), {}};
  for (const int member : members) shown.shown[member] = MarkOf(member);
  return shown;
}

bool IsDown(const View& view, int member) {
  return view.members[static_cast<std::size_t>(member)].state ==
         MemberState::kDown;
}

TEST_CASE("a later view that has all of the others is taken as it is") {
  const View first = FirstView(4, 1);
  const View next = Without(first, 3);
  const Base base = ChooseBase({On({}, first), On({0, 1, 2}, next)}, 10, kNow);
  CHECK(EncodeView(base.view) == EncodeView(next));
  CHECK(base.never_in_force.empty());
  // Not under an epoch that was tried for something else.
  CHECK(ChooseBase({On({0, 1, 2}, next)}, 11, kNow).view.epoch == 12);
}

TEST_CASE("what more than f members refuse is passed over") {
  const View first = FirstView(4, 1);
  const View in_force = Without(first, 3);
  View cut_off = Without(first, 2);
  cut_off.epoch += 5;
  const Base base = ChooseBase(
      {On({}, first), On({0, 1, 2}, in_force), On({3}, cut_off)}, 11, kNow);
  CHECK(IsDown(base.view, 3));
  CHECK_FALSE(IsDown(base.view, 2));
  CHECK(base.view.epoch > cut_off.epoch);
  CHECK(base.never_in_force.contains(EncodeView(cut_off)));
  CHECK_FALSE(base.never_in_force.contains(EncodeView(in_force)));
}

TEST_CASE("of what may be in force all is part of the next view") {
  const View first = FirstView(6, 2);
  const View one = Without(first, 4);
  const View other = Without(first, 5);
  // Two are silent.
  const Base base = ChooseBase({On({0, 1}, one), On({2, 3}, other)}, 10, kNow);
  CHECK(IsDown(base.view, 4));
  CHECK(IsDown(base.view, 5));
  CHECK(base.view.epoch == 12);
  CHECK(base.never_in_force.empty());
}

TEST_CASE("what another memory shows speaks against no view") {
  const View first = FirstView(4, 1);
  const View in_force = Without(first, 3);
  const View beside = Without(first, 2);
  ShownView restarted = On({2, 3}, beside);
  CHECK(ChooseBase({On({0, 1}, in_force), restarted}, 10, kNow)
            .never_in_force.contains(EncodeView(in_force)));
  restarted.shown[2] = "another mark";
  const Base base = ChooseBase({On({0, 1}, in_force), restarted}, 10, kNow);
  CHECK_FALSE(base.never_in_force.contains(EncodeView(in_force)));
  CHECK(IsDown(base.view, 3));
}

TEST_CASE("a first view that lost is no part of what comes of another") {
  // Its incarnations are later.
  const View lost = FirstView(5, 2, 200);
  const View first = FirstView(5, 2, 100);
  View in_force = Without(first, 4);
  in_force.epoch = 12;
  const Base base =
      ChooseBase({On({4}, lost), On({0, 1, 2}, in_force)}, 12, kNow);
  CHECK(IsDown(base.view, 4));
  CHECK(base.never_in_force.contains(EncodeView(lost)));
  // Also while it may be in force as far as is known.
  const Base early = ChooseBase({On({4}, lost), On({0, 1}, first)}, 10, kNow);
  CHECK(SameOrigin(early.view, first));
  CHECK(early.never_in_force.contains(EncodeView(lost)));
}

// Every way in which four members may show two views that do not know of each
// other, or be silent: one that n - f members have is never passed over.
TEST_CASE("a view in force is part of the next one") {
  constexpr int kMembers = 4;
  const View first = FirstView(kMembers, 1);
  const View in_force = Without(first, 3);
  View other = Without(first, 2);
  other.epoch += GENERATE(0, 1, 2);
  int tried = 0;
  for (int shows = 0; shows < 81; ++shows) {
    std::vector<int> have_one;
    std::vector<int> have_other;
    int silent = 0;
    for (int i = 0, rest = shows; i < kMembers; ++i, rest /= 3) {
      if (rest % 3 == 0) ++silent;
      if (rest % 3 == 1) have_one.push_back(i);
      if (rest % 3 == 2) have_other.push_back(i);
    }
    const bool may_be = static_cast<int>(have_one.size()) + silent >= 3;
    if (have_one.empty() || !may_be || silent > 1) continue;
    ++tried;
    CAPTURE(shows);
    const Base base =
        ChooseBase({On(have_one, in_force), On(have_other, other)}, 10, kNow);
    CHECK(Includes(base.view, in_force, kNow));
    CHECK_FALSE(base.never_in_force.contains(EncodeView(in_force)));
  }
  CHECK(tried > 10);
}

}  // namespace
}  // namespace ers::store
