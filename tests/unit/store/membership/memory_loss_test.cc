#include "store/membership/memory_loss.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "store/format/view.h"

namespace ers::store {
namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000;

// What a member is, and what its server answers with.
enum class Case {
  kKept,
  kLost,
  kSilent,
  kBackfillingKept,
  kDownAnswers,
  kCount
};
constexpr int kCases = static_cast<int>(Case::kCount);

bool CountsAsOut(Case is) { return is != Case::kKept; }

struct Fleet {
  View view;
  std::vector<ServerMemory> memories;
};

Fleet MakeFleet(const std::vector<Case>& cases, int max_failures) {
  Fleet fleet;
  fleet.view.epoch = 7;
  fleet.view.max_failures = max_failures;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Member& member = fleet.view.members.emplace_back();
    member.name = fmt::format("10.0.0.{}:11211", i + 1);
    member.incarnation = 100 + i;
    member.boot_mark = fmt::format("{}", i);
    std::string mark = member.boot_mark;
    if (cases[i] == Case::kLost) mark = fmt::format("new {}", i);
    if (cases[i] == Case::kSilent) mark = "";
    fleet.memories.push_back({mark, "no answer", {}});
    if (cases[i] == Case::kBackfillingKept)
      member.state = MemberState::kBackfilling;
    if (cases[i] == Case::kDownAnswers) member.state = MemberState::kDown;
  }
  return fleet;
}

// What is to be of a member that is taken in, and of one that stays.
void CheckMember(const Fleet& fleet, const View& next, std::size_t i,
                 bool stays, bool lacks) {
  const Member& before = fleet.view.members[i];
  const Member& now = next.members[i];
  CHECK(now.state == MemberState::kInSync);
  CHECK(now.boot_mark == fleet.memories[i].boot_mark);
  CHECK((now.incarnation == before.incarnation) == stays);
  CHECK((now.joined == fleet.view.epoch + 1) == !stays);
  CHECK(now.lacking == lacks);
}

void CheckFleet(const std::vector<Case>& cases, int max_failures) {
  const Fleet fleet = MakeFleet(cases, max_failures);
  int out = 0;
  bool silent = false;
  for (const Case is : cases) {
    out += CountsAsOut(is) ? 1 : 0;
    silent |= is == Case::kSilent;
  }
  const Result<View> next = AfterLoss(fleet.view, fleet.memories, kNow);
  if (out <= max_failures) {
    REQUIRE(next.has_value());
    CHECK(EncodeView(*next) == EncodeView(fleet.view));
    return;
  }
  if (silent) {
    REQUIRE_FALSE(next.has_value());
    CHECK(next.error().code() == StatusCode::kUnavailable);
    return;
  }
  REQUIRE(next.has_value());
  // A later view would be on all but f: one of more than f shows it.
  const int kept = static_cast<int>(cases.size()) - out;
  const bool proven = kept > max_failures;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool stays = proven && cases[i] == Case::kKept;
    CheckMember(fleet, *next, i, stays, proven && !stays);
  }
}

TEST_CASE("after a loss, every fleet of five goes on as it may") {
  const int fleets = kCases * kCases * kCases * kCases * kCases;
  for (int number = 0; number < fleets; ++number) {
    std::vector<Case> cases;
    for (int rest = number; cases.size() < 5; rest /= kCases) {
      cases.push_back(static_cast<Case>(rest % kCases));
    }
    CAPTURE(number);
    CheckFleet(cases, 1);
    CheckFleet(cases, 2);
  }
}

TEST_CASE(
    "a server that does not answer after a loss is named, and one that lost "
    "its memory") {
  const Fleet fleet =
      MakeFleet({Case::kLost, Case::kSilent, Case::kKept, Case::kKept}, 1);
  const Result<View> next = AfterLoss(fleet.view, fleet.memories, kNow);
  REQUIRE_FALSE(next.has_value());
  CHECK(
      next.error().message() ==
      "2 servers are out, and this cluster survives 1: 10.0.0.1:11211 lost its "
      "memory; 10.0.0.2:11211 does not answer (no answer): start it, with or "
      "without its memory, or give its place to others: ersctl recover");
}

TEST_CASE("two addresses of one server are found out after a loss, too") {
  Fleet fleet = MakeFleet({Case::kLost, Case::kLost, Case::kLost}, 1);
  fleet.memories[1] = fleet.memories[0];
  const Result<View> next = AfterLoss(fleet.view, fleet.memories, kNow);
  REQUIRE_FALSE(next.has_value());
  CHECK(next.error().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("what was lost was lost by the start of the server, if it started") {
  using std::chrono::seconds;
  const net::TimePoint seen{seconds(100)};
  View view;
  view.members.resize(3);
  view.members[0].boot_mark = "12/1700000000/a";
  view.members[1].boot_mark = "13/1700000000/b";
  view.members[2].boot_mark = "14/1700000000/c";
  std::vector<ServerMemory> memories = {
      {"22/1700000050/d", "", net::TimePoint{seconds(50)}},
      {"23/1700000060/e", "", net::TimePoint{seconds(60)}},
      {"14/1700000000/c", "", net::TimePoint{seconds(0)}}};
  CHECK(LostBy(view, memories, seen) == net::TimePoint{seconds(60)});
  // Emptied, by what and when is unknown.
  memories[1] = {"13/1700000000/e", "", net::TimePoint{seconds(0)}};
  CHECK(LostBy(view, memories, seen) == seen);
  // Of what it was before nothing is known.
  view.members[1].boot_mark.clear();
  CHECK(LostBy(view, memories, seen) == seen);
  // Whole seconds may make the start later than that it was seen.
  view.members[1].boot_mark = "33/1700000000/b";
  memories[1] = {"13/1700000000/e", "", seen + seconds(1)};
  CHECK(LostBy(view, memories, seen) == seen);
}

TEST_CASE("the time since a loss begins anew when another memory is lost") {
  using std::chrono::seconds;
  LossWatch watch;
  const net::TimePoint start{seconds(100)};
  const std::vector<ServerMemory> memories = {{"a", "", {}},
                                              {"", "no answer", {}}};
  CHECK(watch.Saw(memories, start) == start);
  CHECK(watch.Saw(memories, start + seconds(3)) == start);
  const std::vector<ServerMemory> others = {{"a", "", {}}, {"b", "", {}}};
  CHECK(watch.Saw(others, start + seconds(4)) == start + seconds(4));
}

}  // namespace
}  // namespace ers::store
