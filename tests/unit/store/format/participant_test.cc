#include "store/format/participant.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/keys.h"
#include "store/format/record.h"

namespace ers::store {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a registry survives its writing, and shows a broken one") {
  const std::vector<Participant> participants = {
      {~std::uint64_t{0}, "process 1 on h"}, {6, ""}};
  const std::string text = EncodeRegistry(participants);
  const Result<Registry> back = DecodeRegistry(text);
  REQUIRE(back);
  REQUIRE(back->participants.size() == 2);
  CHECK(back->participants[0].id == ~std::uint64_t{0});
  CHECK(back->participants[0].label == "process 1 on h");
  CHECK(back->Lists(6));
  CHECK_FALSE(back->Lists(7));
  CHECK(back->older.empty());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string broken = text;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    CHECK_FALSE(DecodeRegistry(broken));
  }
  CHECK(DecodeRegistry("").error().code() == StatusCode::kNotManaged);
}

// As processes of before read it.
TEST_CASE("a reader of format 1 refuses a registry, and says what to do") {
  const Status read = OpenRecord(EncodeRegistry({}), "record of peers",
                                 [](const auto&) { return Status(); });
  CHECK(read.code() == StatusCode::kUnsupportedFormat);
  CHECK(read.message().find("upgrade") != std::string::npos);
}

// Their servers would need memory for another class of item sizes.
TEST_CASE("a registry of some processes is as long as that of one") {
  std::vector<Participant> participants;
  const std::size_t size = EncodeRegistry(participants).size();
  CHECK(size % 1024 == 0);
  for (std::uint64_t i = 1; i <= 8; ++i) {
    participants.push_back({.id = ~i, .label = "10.20.30.40:12345"});
    CHECK(EncodeRegistry(participants).size() == size);
  }
}

TEST_CASE("a record of format 1 shows processes of an older version") {
  const std::string text = SealRecord(
      {{"peers",
        {{{"id", 5U}, {"epoch", 3U}, {"beat", 9U}, {"label", "old"}}}}});
  const Result<Registry> back = DecodeRegistry(text);
  REQUIRE(back);
  CHECK(back->participants.empty());
  REQUIRE(back->older.size() == 1);
  CHECK(back->older[0].id == 5);
  CHECK(back->older[0].heartbeat == 9);
  CHECK(back->older[0].label == "old");
}

// docs/reference/format.md has these bytes.
TEST_CASE("the bytes of an entry are pinned") {
  const Entry entry{
      0x0102030405060708, {0x1112131415161718, milliseconds(500)}, 3};
  const std::string bytes = EncodeEntry(entry);
  std::string hex;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    hex += kDigits[value >> 4];
    hex += kDigits[value & 15];
  }
  CHECK(hex ==
        "655253700100f401"
        "0807060504030201"
        "1817161514131211"
        "0300000000000000"
        "4805462b");
  CHECK(EntryKey(entry.id) == "ers!p.0102030405060708");
  const Result<Entry> back = DecodeEntry(bytes);
  REQUIRE(back);
  CHECK(back->id == entry.id);
  CHECK(back->terms == entry.terms);
  CHECK(back->count == 3);
}

TEST_CASE("an entry that is damaged, or of a newer format, is none") {
  const std::string bytes = EncodeEntry({1, {2, milliseconds(2000)}, 3});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string broken = bytes;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    CHECK_FALSE(DecodeEntry(broken));
  }
  CHECK_FALSE(DecodeEntry(bytes.substr(1)));
  for (std::size_t left = 0; left < bytes.size(); ++left) {
    CHECK_FALSE(DecodeEntry(bytes.substr(0, left)));
  }
  CHECK_FALSE(DecodeEntry(bytes + "x"));
  CHECK(DecodeEntry("").error().code() == StatusCode::kNotManaged);
  std::string newer = bytes;
  newer[4] = 2;
  CHECK(DecodeEntry(newer).error().code() == StatusCode::kUnsupportedFormat);
}

}  // namespace
}  // namespace ers::store
