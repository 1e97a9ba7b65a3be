#include "store/membership/member_stamps.h"

#include <catch2/catch.hpp>
#include <string>

#include "store/format/view.h"

namespace ers::store {
namespace {

std::string RecordOf(std::uint64_t epoch) {
  View view;
  view.epoch = epoch;
  for (const char* name : {"a:1", "b:1"}) {
    Member& member = view.members.emplace_back();
    member.name = name;
  }
  return EncodeView(view);
}

TEST_CASE("a view record is decoded once while members show the same") {
  MemberStamps stamps;
  const std::string text = RecordOf(7);
  const auto first = stamps.Decode(text);
  REQUIRE(first);
  CHECK(first->view->epoch == 7);
  const auto again = stamps.Decode(std::string(text));
  REQUIRE(again);
  CHECK(again->view == first->view);
  CHECK(again->hash == first->hash);
  // What cannot be read is not remembered.
  CHECK_FALSE(stamps.Decode(""));
  CHECK_FALSE(stamps.Decode(text + " broken"));
  CHECK(stamps.Decode(text)->view == first->view);
  const auto other = stamps.Decode(RecordOf(8));
  REQUIRE(other);
  CHECK(other->view->epoch == 8);
  CHECK(other->hash != first->hash);
  CHECK(stamps.Decode(text)->view->epoch == 7);
}

}  // namespace
}  // namespace ers::store
