#include "store/memory_needs.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace ers::store {
namespace {

using Keys = std::vector<std::string>;

TEST_CASE("endings are noted once somebody takes them, and taken once") {
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
  MemoryNeeds needs;
  const auto waits = [&needs] {
    needs.NoteFlush();
    return needs.giving_back();
  };
  needs.Serve(/*collects=*/false);
  needs.NoteShortage();
  CHECK_FALSE(waits());
  MemoryNeeds roomy;
  roomy.Serve(/*collects=*/true);
  roomy.NoteFlush();
  CHECK_FALSE(roomy.giving_back());
  needs.Serve(/*collects=*/true);
  CHECK(waits());
  needs.NoteGivenBack();
  CHECK_FALSE(needs.giving_back());
}

}  // namespace
}  // namespace ers::store
