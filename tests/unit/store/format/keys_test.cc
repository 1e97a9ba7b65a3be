#include "store/format/keys.h"

#include <catch2/catch.hpp>
#include <string>

#include "unit/store/format/golden.h"

namespace ers::store {
namespace {

TEST_CASE("keys of 1 to 250 bytes are good, others are not") {
  CHECK(ValidateKey("").code() == StatusCode::kInvalidArgument);
  CHECK(ValidateKey("k").ok());
  CHECK(ValidateKey(std::string(250, 'k')).ok());
  const Status longer = ValidateKey(std::string(251, 'k'));
  CHECK(longer.code() == StatusCode::kInvalidArgument);
  CHECK(longer.message().find("251") != std::string::npos);
}

TEST_CASE("exactly spaces, control characters and DEL are refused") {
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    for (std::size_t at = 0; at < 3; ++at) {
      std::string key = "abc";
      key[at] = static_cast<char>(byte);
      const bool good = byte > 0x20 && byte != 0x7f;
      const Status status = ValidateKey(key);
      CHECK(status.ok() == good);
      if (good) continue;
      CHECK(status.code() == StatusCode::kInvalidArgument);
      CHECK(status.message().find("byte " + std::to_string(at)) !=
            std::string::npos);
    }
  }
  CHECK(ValidateKey("schl\xc3\xbcssel-\xe9\x8d\xb5").ok());
}

TEST_CASE("an object's manifest is at its own key, unless that is reserved") {
  CHECK(ManifestKey("movie") == "movie");
  CHECK(ManifestKey("ers") == "ers");
  CHECK(ManifestKey("ERS!view") == "ERS!view");
  for (const char* key : {"ers!", "ers!view", "ers!boot", "ers!bx", "ers!kx"}) {
    CAPTURE(key);
    const std::string item = ManifestKey(key);
    CHECK(item.size() == 5 + 22);
    CHECK(item.starts_with("ers!k"));
    CHECK(item != key);
    CHECK(ValidateKey(item).ok());
  }
  CHECK(ManifestKey("ers!view") != ManifestKey("ers!boot"));
  CHECK(ManifestKey("ers!" + std::string(246, 'x')).size() == 27);
}

TEST_CASE("key hashes are XXH3-128, whose value for no bytes is published") {
  CHECK(HashKey("") == KeyHash{0x99aa06d3014798d8, 0x6001c324468d497f});
}

TEST_CASE("a block's key is as docs/reference/format.md shows it") {
  CHECK(BlockKey({0x99aa06d3014798d8, 0x6001c324468d497f}, test::kId, 0x2b) ==
        "ers!bmaoG0wFHmNhgAcMkRo1Jfw.AAECAwQFBgcICQoLDA0ODw.2b");
  CHECK(BlockKey({0, 0}, {0, 0}, 0) ==
        "ers!bAAAAAAAAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAA.0");
  const std::uint64_t ones = ~std::uint64_t{0};
  CHECK(BlockKey({ones, ones}, {ones, ones}, ones) ==
        "ers!b_____________________w._____________________w.ffffffffffffffff");
  CHECK(BlockKey(HashKey("movie"), test::kId, 0) ==
        "ers!b6QGF9QPBwtcRMU4DsBK4LQ.AAECAwQFBgcICQoLDA0ODw.0");
}

TEST_CASE("a block's key is read as it was written, and no other") {
  const KeyHash hash{0x99aa06d3014798d8, 0x6001c324468d497f};
  const std::uint64_t ones = ~std::uint64_t{0};
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{43}, ones}) {
    for (const ChangeId& id : {test::kId, ChangeId{}, ChangeId{ones, ones}}) {
      const auto name = ParseBlockKey(BlockKey(hash, id, number));
      REQUIRE(name);
      CHECK(name->hash == hash);
      CHECK(name->generation == id);
      CHECK(name->number == number);
    }
  }
  const std::string key = BlockKey(hash, test::kId, 0x2b);
  CHECK_FALSE(ParseBlockKey("ers!boot"));
  CHECK_FALSE(ParseBlockKey("ers!k" + key.substr(5)));
  for (std::size_t i = 0; i + 1 < key.size(); ++i) {
    CAPTURE(i);
    CHECK_FALSE(ParseBlockKey(key.substr(0, i)));
    std::string other = key;
    other[i] = '!';
    if (other != key) CHECK_FALSE(ParseBlockKey(other));
  }
  CHECK_FALSE(ParseBlockKey(key + "g"));
  CHECK_FALSE(ParseBlockKey(key + "00000000000000000"));
  CHECK_FALSE(ParseBlockKey(key.substr(0, key.size() - 2) + "2B"));
  // Bits that no encoder sets.
  CHECK_FALSE(ParseBlockKey("ers!bAAAAAAAAAAAAAAAAAAAAAB" + key.substr(27)));
}

TEST_CASE("a pack's key is read as it was written, and no other") {
  const std::string key = PackKey(test::kId);
  CHECK(key == "ers!pack.AAECAwQFBgcICQoLDA0ODw");
  CHECK(PackOfKey(key) == test::kId);
  CHECK(HasHashedName(key));
  CHECK_FALSE(IsPackKey(key.substr(0, key.size() - 1)));
  CHECK_FALSE(IsPackKey(key + "A"));
  CHECK_FALSE(IsPackKey("ers!pack."));
  CHECK_FALSE(IsPackKey("movie"));
  // Bits that no encoder sets.
  CHECK_FALSE(IsPackKey("ers!pack.AAAAAAAAAAAAAAAAAAAAAB"));
}

TEST_CASE("a hashed name shows its hash") {
  CHECK(HashOfHashedName(ManifestKey("ers!view")) == HashKey("ers!view"));
  CHECK_FALSE(HashOfHashedName("ers!view"));
  CHECK_FALSE(HashOfHashedName("movie"));
  CHECK_FALSE(HashOfHashedName("ers!k"));
}

}  // namespace
}  // namespace ers::store
