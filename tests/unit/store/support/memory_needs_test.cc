#include "store/support/memory_needs.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

namespace ers::store {
namespace {

using Keys = std::vector<std::string>;

TEST_CASE("endings are noted once a collector takes them, and taken once") {
  MemoryNeeds needs;
  needs.NoteEnding("before", 5);
  needs.Serve(/*collects=*/false);
  needs.NoteEnding("b", 10);
  needs.NoteEnding("a", 20);
  needs.NoteEnding("moved", 10);
  needs.NoteEnding("moved", 30);
  CHECK(needs.TakeEnded(9).empty());
  CHECK(needs.TakeEnded(20) == Keys{"b", "a"});
  CHECK(needs.TakeEnded(20).empty());
  CHECK(needs.TakeEnded(30) == Keys{"moved"});
}

TEST_CASE("behind a flush of full servers there is room to wait for") {
  const net::TimePoint now = net::TimePoint() + std::chrono::seconds(100);
  const net::TimePoint until = now + std::chrono::seconds(5);
  MemoryNeeds needs;
  const auto waits = [&needs, now, until] {
    needs.NoteFlush(until);
    return needs.GivingBack(now);
  };
  // No collector gives it back, or there is room.
  needs.Serve(/*collects=*/false);
  needs.NoteShortage();
  CHECK_FALSE(waits());
  MemoryNeeds roomy;
  roomy.Serve(/*collects=*/true);
  roomy.NoteFlush(until);
  CHECK_FALSE(roomy.GivingBack(now));
  needs.Serve(/*collects=*/true);
  CHECK(waits());
  // However long it takes to give all back.
  CHECK_FALSE(needs.GivingBack(until));
  needs.NoteGivenBack();
  CHECK_FALSE(needs.GivingBack(now));
}

}  // namespace
}  // namespace ers::store
