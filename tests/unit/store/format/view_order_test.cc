#include "store/format/view_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "sanitized.h"
#include "unit/store/format/golden.h"

namespace ers::store {
namespace {

constexpr std::int64_t kNow = 1'000'000;

View Base() {
  View view = test::ViewExample();
  for (Member& member : view.members) {
    member.state = MemberState::kInSync;
    member.joined = 0;
  }
  return view;
}

// What processes do to a view, each on what it knows.
class Changer {
 public:
  explicit Changer(std::uint32_t seed) : random_(seed) {}

  void Change(View& view, std::int64_t now_us) {
    const std::size_t at = random_() % view.members.size();
    Member& member = view.members[at];
    switch (random_() % 6) {
      case 0:
        member.state = MemberState::kDown;
        member.lacking = false;
        break;
      case 1:  // it returns, or is taken in empty
        member.incarnation += 1 + random_() % 3;
        member.joined = view.epoch + 1;
        member.lacking = random_() % 2 == 0;
        member.state =
            member.lacking ? MemberState::kInSync : MemberState::kBackfilling;
        break;
      case 2:
        if (member.state == MemberState::kDown) break;
        member.state = MemberState::kInSync;
        member.lacking = false;
        break;
      case 3:
        view.FlushAll(random_(), now_us);
        break;
      default:
        (void)view.Flush(
            static_cast<std::uint64_t>(now_us) - 500 + random_() % 1000,
            now_us);
    }
    ++view.epoch;
  }
  std::size_t Below(std::size_t n) { return random_() % n; }

 private:
  std::mt19937 random_;
};

TEST_CASE("a member goes on from backfilled to down, and begins again later") {
  const View base = Base();
  View down = base;
  down.members[0].state = MemberState::kDown;
  CHECK(Includes(down, base, kNow));
  CHECK_FALSE(Includes(base, down, kNow));
  View back = down;
  back.members[0].state = MemberState::kBackfilling;
  ++back.members[0].incarnation;
  back.members[0].joined = back.epoch + 1;
  CHECK(Includes(back, down, kNow));
  View in_sync = back;
  in_sync.members[0].state = MemberState::kInSync;
  CHECK(Includes(in_sync, back, kNow));
  CHECK_FALSE(Includes(back, in_sync, kNow));
  View lacking = in_sync;
  lacking.members[0].lacking = true;
  CHECK(Includes(in_sync, lacking, kNow));
  CHECK_FALSE(Includes(lacking, in_sync, kNow));
  // Of two members each says something of its own.
  View other = base;
  other.members[1].state = MemberState::kDown;
  CHECK_FALSE(Includes(other, down, kNow));
  CHECK_FALSE(Includes(down, other, kNow));
  const View both = Merge(other, down, kNow);
  CHECK(both.members[0].state == MemberState::kDown);
  CHECK(both.members[1].state == MemberState::kDown);
  CHECK(both.epoch == other.epoch);
}

TEST_CASE("views of two clusters on the same servers have nothing in common") {
  View one = Base();
  View other = one;
  for (Member& member : other.members) ++member.incarnation;
  CHECK_FALSE(SameOrigin(one, other));
  CHECK_FALSE(Includes(other, one, kNow));
  CHECK_FALSE(Includes(one, other, kNow));
  // One that has returned shows no more which of the two it is of.
  View later = one;
  later.members[0].incarnation += 5;
  later.members[0].joined = 7;
  CHECK(SameOrigin(one, later));
  CHECK_FALSE(SameOrigin(other, later));
  later.members[1].incarnation += 5;
  later.members[1].joined = 8;
  CHECK(SameOrigin(other, later));
  CHECK(Includes(later, other, kNow));
}

TEST_CASE("flushes that do not know of each other both take effect") {
  View one = Base();
  View other = one;
  one.FlushAll(1, kNow);
  other.FlushAll(2, kNow);
  const FlushMark before = other.flush_mark;
  CHECK_FALSE(Includes(one, other, kNow));
  const View both = Merge(one, other, kNow);
  // What was put behind either of them is flushed by the other one.
  CHECK(both.flush_mark == before + 1);
  CHECK(both.flushes == std::vector<std::uint64_t>{2, 1});
  // One that is part of the other takes no further effect.
  View later = one;
  later.FlushAll(3, kNow);
  CHECK(Merge(one, later, kNow).flush_mark == later.flush_mark);
  CHECK(Merge(later, one, kNow).flush_mark == later.flush_mark);
}

TEST_CASE("all flushes to come stay, also more than may be asked for") {
  View one = Base();
  View other = one;
  for (std::uint64_t i = 0; i < 12; ++i) {
    REQUIRE(one.Flush(kNow + 100 + 2 * i, kNow).ok());
    REQUIRE(other.Flush(kNow + 101 + 2 * i, kNow).ok());
  }
  const View both = Merge(one, other, kNow);
  CHECK(both.flush_at.size() + 1 == 24);
  CHECK(Includes(both, one, kNow));
  CHECK(Includes(both, other, kNow));
}

bool SameMembers(const View& one, const View& other) {
  return std::ranges::equal(one.members, other.members,
                            [](const Member& a, const Member& b) {
                              return a.incarnation == b.incarnation &&
                                     a.shown_state() == b.shown_state();
                            });
}

TEST_CASE(
    "what a view was made of is part of it, and a merge has all of both") {
  int apart = 0;
  const std::uint32_t seeds = kSanitized ? 1'000 : 20'000;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    Changer changer(seed);
    std::int64_t now = kNow;
    // A few lines of views that part, and are merged now and then.
    std::vector<View> lines(3, Base());
    for (int step = 0; step < 12; ++step) {
      now += static_cast<std::int64_t>(changer.Below(300));
      View& line = lines[changer.Below(lines.size())];
      const View before = line;
      changer.Change(line, now);
      REQUIRE(Includes(line, before, now));
      const View& other = lines[changer.Below(lines.size())];
      const View both = Merge(line, other, now);
      REQUIRE(Includes(both, line, now));
      REQUIRE(Includes(both, other, now));
      REQUIRE(SameMembers(both, Merge(other, line, now)));
      // Nothing is made up: of two of which one has all, that comes of it.
      if (Includes(line, other, now)) {
        REQUIRE(EncodeView(both) == EncodeView(line));
      } else if (!Includes(other, line, now)) {
        ++apart;
      }
      if (changer.Below(4) == 0) line = both;
    }
  }
  CHECK(apart > static_cast<int>(seeds));
}

}  // namespace
}  // namespace ers::store
