// LateServers: after how long a reply is late, and which servers are slow.
#include "store/support/late_servers.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

namespace ers::store {
namespace {

using net::Duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBytes = 50'000;
constexpr Duration kPatience = milliseconds(2);

struct Fixture {
  // Of each member: hundredths of its replies that took so long.
  void Seen(int member, Duration took, int of_hundred) {
    for (int i = 0; i < of_hundred; ++i) {
      links[static_cast<std::size_t>(member)].latency.Record(took, kBytes, now);
    }
  }
  Duration Patience(int member) {
    return servers.Patience(member, kBytes, now);
  }
  bool Shunned(int member) const { return servers.IsShunned(member, now); }
  void Probe(bool in_time, Duration took = milliseconds(1)) {
    REQUIRE(servers.TakeProbe(0, now));
    CHECK_FALSE(servers.TakeProbe(0, now));
    servers.OnProbeEnd(0, took, in_time, now);
  }
  void MakeSlow() {
    servers.OnLate(0, kPatience, now);
    servers.OnEnd(0, true, /*answered=*/false);
    REQUIRE(Shunned(0));
  }

  std::vector<net::LinkCounters> links{4};
  LateServers servers{links, true};
  net::TimePoint now{seconds(1000)};
};

// A bucket of the histogram is an eighth wide.
bool About(Duration is, Duration expected) {
  return is >= expected && is <= expected * 9 / 8;
}

TEST_CASE("nothing is known of servers that have not answered") {
  Fixture f;
  CHECK(f.Patience(0) == LateServers::kUnknown);
}

TEST_CASE("a reply is late after the member's own p99") {
  Fixture f;
  for (int member = 0; member < 4; ++member) {
    f.Seen(member, milliseconds(4), 97);
    f.Seen(member, milliseconds(6), 3);
  }
  CHECK(About(f.Patience(0), milliseconds(6)));
}

TEST_CASE("a member that has not answered is given twice what others take") {
  Fixture f;
  for (int member = 1; member < 4; ++member) {
    f.Seen(member, milliseconds(4), 100);
  }
  CHECK(About(f.Patience(0), milliseconds(8)));
}

TEST_CASE("one that is late all the time is given twice what others take") {
  Fixture f;
  f.Seen(0, milliseconds(50), 100);
  for (int member = 1; member < 4; ++member) {
    f.Seen(member, milliseconds(3), 100);
  }
  CHECK(About(f.Patience(0), milliseconds(6)));
  CHECK(About(f.Patience(1), milliseconds(3)));
}

TEST_CASE("no reply is late within a millisecond") {
  Fixture f;
  for (int member = 0; member < 4; ++member) {
    f.Seen(member, std::chrono::microseconds(100), 100);
  }
  CHECK(f.Patience(0) == LateServers::kLeast);
}

TEST_CASE("what was learned is learned anew after a while") {
  Fixture f;
  CHECK(f.Patience(0) == LateServers::kUnknown);
  for (int member = 0; member < 4; ++member) {
    f.Seen(member, milliseconds(2), 100);
  }
  CHECK(f.Patience(0) == LateServers::kUnknown);
  f.now += seconds(1);
  CHECK(About(f.Patience(0), milliseconds(2)));
}

TEST_CASE("a member is shunned once it is late for as long again, until then") {
  Fixture f;
  CHECK_FALSE(f.servers.any());
  f.servers.OnLate(0, kPatience, f.now);
  CHECK(f.servers.any());
  CHECK_FALSE(f.Shunned(0));
  f.now += kPatience;
  CHECK(f.Shunned(0));
  CHECK_FALSE(f.Shunned(1));
  f.servers.OnLate(0, kPatience, f.now);  // another one, behind the first
  f.servers.OnEnd(0, true, true);
  CHECK(f.Shunned(0));
  f.servers.OnEnd(0, true, true);
  CHECK_FALSE(f.Shunned(0));
  CHECK_FALSE(f.servers.any());
}

TEST_CASE("a member is shunned that was late and overtaken") {
  Fixture f;
  f.servers.OnLate(0, kPatience, f.now);
  f.servers.OnOvertaken(0, f.now);
  CHECK(f.Shunned(0));
  f.servers.OnEnd(0, true, true);
  CHECK_FALSE(f.Shunned(0));
}

TEST_CASE("a member is slow that was late three times in a row") {
  const bool in_time_between = GENERATE(false, true);
  Fixture f;
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(f.servers.OneIsSlow());
    if (in_time_between) f.servers.OnEnd(0, false, true);
    f.servers.OnLate(0, kPatience, f.now);
    f.servers.OnLate(0, kPatience, f.now);
    f.servers.OnEnd(0, true, true);
    f.servers.OnEnd(0, true, true);
  }
  CHECK(f.servers.OneIsSlow() != in_time_between);
  CHECK(f.Shunned(0) != in_time_between);
}

TEST_CASE("a member is slow that did not answer for what was late") {
  Fixture f;
  f.MakeSlow();
  CHECK(f.servers.OneIsSlow());
}

TEST_CASE("a slow member is shunned until probes in a row were in time") {
  Fixture f;
  f.MakeSlow();
  for (int i = 0; i < 7; ++i) {
    f.Probe(true);
    CHECK(f.Shunned(0));
    f.now += milliseconds(10);
  }
  SECTION("they were") {
    f.Probe(true);
    CHECK_FALSE(f.Shunned(0));
    CHECK_FALSE(f.servers.any());
    CHECK_FALSE(f.servers.TakeProbe(0, f.now));
  }
  SECTION("the last was not") {
    f.Probe(false);
    f.now += seconds(1);
    f.Probe(true);
    CHECK(f.Shunned(0));
  }
}

TEST_CASE("probes take a small part of a slow member's time") {
  Fixture f;
  f.MakeSlow();
  f.Probe(false, milliseconds(20));
  f.now += milliseconds(999);
  CHECK_FALSE(f.servers.TakeProbe(0, f.now));
  f.now += milliseconds(1);
  f.Probe(false, seconds(10));
  f.now += seconds(30);
  f.Probe(false, {});
  CHECK_FALSE(f.servers.TakeProbe(0, f.now));
}

TEST_CASE("reads that had to wait for a slow member count as probes do") {
  Fixture f;
  f.MakeSlow();
  for (int i = 0; i < 8; ++i) {
    CHECK(f.Shunned(0));
    f.servers.OnEnd(0, false, true);
  }
  CHECK_FALSE(f.Shunned(0));
}

}  // namespace
}  // namespace ers::store
