#include "store/format/item_line.h"

#include <catch2/catch.hpp>

namespace ers::store {
namespace {

TEST_CASE("a line has an item's key, and numbers") {
  constexpr char kEvicted[] =
      "ts=1700000000.123 gid=5 type=eviction key=a%20la%3D7%25 fetch=no "
      "ttl=-1 la=12 clsid=5 size=1234";
  CHECK(KeyOfLine(kEvicted) == "a la=7%");
  CHECK(FieldOfLine(kEvicted, "la") == 12);
  CHECK(FieldOfLine(kEvicted, "ttl") == -1);
  CHECK(FieldOfLine(kEvicted, "size") == 1234);
  CHECK_FALSE(FieldOfLine(kEvicted, "fetch"));
  CHECK_FALSE(FieldOfLine(kEvicted, "ts="));
  CHECK_FALSE(FieldOfLine(kEvicted, "id"));

  constexpr char kDumped[] = "key=b exp=99 la=17 cas=3 fetch=yes cls=1 size=70";
  CHECK(KeyOfLine(kDumped) == "b");
  CHECK(FieldOfLine(kDumped, "exp") == 99);
}

TEST_CASE("a line that describes none") {
  for (const char* line :
       {"", " ", "[skipped: 7]", "key", "key=", "monkey=b"}) {
    CAPTURE(line);
    CHECK(KeyOfLine(line).empty());
    CHECK_FALSE(FieldOfLine(line, "la"));
  }
  // What is no escape stays as it is.
  CHECK(KeyOfLine("key=a%2") == "a%2");
  CHECK(KeyOfLine("key=a%zz") == "a%zz");
}

}  // namespace
}  // namespace ers::store
