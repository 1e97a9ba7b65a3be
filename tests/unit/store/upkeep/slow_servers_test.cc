// SlowServers: what is slow beside others, and for how long.
#include "store/upkeep/slow_servers.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>

namespace ers::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a time is odd beside another, not by itself") {
  CHECK(SlowServers::IsOdd(milliseconds(9), milliseconds(1)));
  CHECK(!SlowServers::IsOdd(milliseconds(7), milliseconds(1)));
  CHECK(!SlowServers::IsOdd(milliseconds(100), milliseconds(40)));
  // Nothing is slow that is quick enough.
  CHECK(!SlowServers::IsOdd(milliseconds(4), std::chrono::microseconds(100)));
}

TEST_CASE("the one that others are compared with is neither fast nor slow") {
  AnswerTimes times(5);
  times[0] = milliseconds(900);
  times[2] = milliseconds(2);
  CHECK(SlowServers::Ordinary(times) == -1);
  times[4] = milliseconds(1);
  CHECK(SlowServers::Ordinary(times) == -1);  // two others of four
  times[3] = milliseconds(3);
  CHECK(SlowServers::Ordinary(times) == 2);
  CHECK(SlowServers::Ordinary({}) == -1);
  CHECK(SlowServers::Ordinary({milliseconds(900), milliseconds(1)}) == -1);
  // One slow server of three is none that others are compared with.
  CHECK(SlowServers::Ordinary(
            {milliseconds(900), milliseconds(1), milliseconds(2)}) == 2);
}

TEST_CASE("slow for long is slow in each of several scans") {
  SlowServers servers;
  CHECK(!servers.Note(3, true));
  CHECK(!servers.Note(3, true));
  CHECK(!servers.Note(3, false));
  CHECK(!servers.Note(3, true));
  CHECK(!servers.Note(3, true));
  CHECK(!servers.Note(1, true));
  CHECK(servers.Note(3, true));
}

TEST_CASE("one that was slow is asked by the next scan, too") {
  SlowServers servers;
  CHECK(!servers.IsSuspect(3));
  servers.Note(3, true);
  CHECK(servers.IsSuspect(3));
  CHECK(!servers.IsSuspect(4));
  servers.Note(3, false);
  CHECK(!servers.IsSuspect(3));
}

TEST_CASE("the last time of each is kept for scans that do not ask it") {
  SlowServers servers;
  servers.NoteTime(2, milliseconds(1));
  servers.NoteTime(0, milliseconds(3));
  CHECK(servers.times() == AnswerTimes{milliseconds(3), {}, milliseconds(1)});
  servers.NoteTime(2, {});
  CHECK(servers.times() == AnswerTimes{milliseconds(3), {}, {}});
}

TEST_CASE("one that is out is tested less and less often, and logged once") {
  SlowServers servers;
  net::TimePoint now{std::chrono::hours(1)};
  CHECK(servers.MayTest(2, now));
  CHECK(servers.NoteTest(2, true, now));
  CHECK(!servers.MayTest(2, now + seconds(1)));
  CHECK(servers.MayTest(2, now + seconds(2)));
  CHECK(servers.MayTest(1, now));
  now += seconds(2);
  CHECK(!servers.NoteTest(2, true, now));
  CHECK(!servers.MayTest(2, now + seconds(3)));
  for (int i = 0; i < 20; ++i) servers.NoteTest(2, true, now);
  CHECK(servers.MayTest(2, now + SlowServers::kMaxPause));
  CHECK(!servers.NoteTest(2, false, now));
  CHECK(servers.MayTest(2, now));
  CHECK(servers.NoteTest(2, true, now));
}

}  // namespace
}  // namespace ers::store
