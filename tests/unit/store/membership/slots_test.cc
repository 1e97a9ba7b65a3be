#include "store/membership/slots.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ers::store {
namespace {

std::vector<net::Endpoint> Servers(std::string_view list) {
  return net::ParseEndpoints(list).value();
}

// Of a:1, b:2 (weight 2) and c:3; b's slot has had x:1, and has y:1 now.
View Replaced() {
  View view;
  for (const char* const name : {"a:1", "b:2", "c:3"}) {
    view.members.emplace_back().name = name;
  }
  view.members[1].weight = 2;
  view.members[1].address = "y:1";
  view.members[1].previous = "x:1";
  return view;
}

TEST_CASE("a slot may be given by any server that has or had it") {
  const View view = Replaced();
  CHECK(FitsServers(Servers("a:1,b:2:2,c:3"), view));
  CHECK(FitsServers(Servers("c:3,a:1,x:1:2"), view));
  CHECK(FitsServers(Servers("y:1:2,c:3,a:1"), view));
}

TEST_CASE("servers that are not the view's do not fit") {
  const View view = Replaced();
  for (const char* const list :
       {"a:1,c:3", "a:1,c:3,d:4", "a:1,b:2,c:3", "a:1,b:2:2,c:3,y:1:2",
        "a:1,x:1:2,y:1:2", "a:1:2,y:1:2,c:3"}) {
    CAPTURE(list);
    CHECK_FALSE(FitsServers(Servers(list), view));
  }
}

TEST_CASE("an old list is reported with the servers that took its places") {
  const View view = Replaced();
  CHECK(Outdated(Servers("a:1,y:1:2,c:3"), view).empty());
  CHECK(Outdated(Servers("a:1,b:2:2,c:3"), view) ==
        std::vector<std::string>{"y:1 has taken the place of b:2"});
  CHECK(Outdated(Servers("a:1,x:1:2,c:3"), view) ==
        std::vector<std::string>{"y:1 has taken the place of x:1"});
}

// Invariant V6.
TEST_CASE("the ring is that of the slots, whatever servers have them") {
  SlotRing slots;
  View view = Replaced();
  const auto ring = slots.Of(view);
  view.members[1].address.clear();
  CHECK(slots.Of(view) == ring);
  const net::Ring named(Servers("a:1,b:2:2,c:3"));
  for (const char* const key : {"k", "movie", "another", "x:1", "y:1"}) {
    CHECK(ring->Walk(key, 3) == named.Walk(key, 3));
  }
}

TEST_CASE("the same slots may have other servers") {
  View other = Replaced();
  other.members[1].address = "z:1";
  CHECK(SameSlots(Replaced(), other));
  other.members[1].weight = 1;
  CHECK_FALSE(SameSlots(Replaced(), other));
  other = Replaced();
  other.members.pop_back();
  CHECK_FALSE(SameSlots(Replaced(), other));
}

}  // namespace
}  // namespace ers::store
