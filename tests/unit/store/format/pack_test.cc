#include "store/format/pack.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/store/format/golden.h"

namespace ers::store {
namespace {

std::vector<PackEntry> Entries() { return {{"a", 5, 0}, {"bc", 3, 0}}; }

TEST_CASE("a pack has the bytes that docs/reference/format.md shows") {
  std::vector<PackEntry> entries = Entries();
  const std::string directory = EncodePackDirectory(entries);
  CHECK(test::ToHex(directory + "helloxyz") ==
        "6552500108000000020161050262630368656c6c6f78797a");
  CHECK(entries[0].offset == directory.size());
  CHECK(entries[1].offset == directory.size() + 5);
}

TEST_CASE("a pack's directory is read as it was written") {
  std::vector<PackEntry> was = Entries();
  const std::string bytes = EncodePackDirectory(was) + "helloxyz";
  REQUIRE(PackDirectoryBytes(bytes.substr(0, kPackHeaderBytes)).has_value());
  const auto is = DecodePackDirectory(bytes, bytes.size());
  REQUIRE(is.has_value());
  REQUIRE(is->size() == was.size());
  for (std::size_t i = 0; i < was.size(); ++i) {
    CHECK((*is)[i].key == was[i].key);
    CHECK((*is)[i].length == was[i].length);
    CHECK((*is)[i].offset == was[i].offset);
  }
}

TEST_CASE("what is no pack, or of another length, is refused") {
  std::vector<PackEntry> entries = Entries();
  const std::string directory = EncodePackDirectory(entries);
  const std::string bytes = directory + "helloxyz";
  for (std::size_t size = 0; size < directory.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(DecodePackDirectory(bytes.substr(0, size), bytes.size()));
  }
  CHECK_FALSE(DecodePackDirectory(bytes, bytes.size() + 1));
  CHECK_FALSE(DecodePackDirectory(bytes, bytes.size() - 1));
  std::string newer = bytes;
  newer[3] = 2;
  CHECK(DecodePackDirectory(newer, newer.size()).error().code() ==
        StatusCode::kUnsupportedFormat);
  for (std::size_t at = 0; at < directory.size(); ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string bad = bytes;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      std::vector<PackEntry> read =
          DecodePackDirectory(bad, bad.size()).value_or(Entries());
      for (const PackEntry& entry : read) {
        CHECK(entry.offset + entry.length <= bad.size());
      }
    }
  }
}

}  // namespace
}  // namespace ers::store
