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
  needs.Serve();
  needs.NoteEnding("b", 10);
  needs.NoteEnding("a", 20);
  needs.NoteEnding("moved", 10);
  needs.NoteEnding("moved", 30);
  CHECK(needs.TakeEnded(9).empty());
  CHECK(needs.TakeEnded(20) == Keys{"b", "a"});
  CHECK(needs.TakeEnded(20).empty());
  CHECK(needs.TakeEnded(30) == Keys{"moved"});
}

}  // namespace
}  // namespace ers::store
