#include "store/keys.h"

#include <catch2/catch.hpp>
#include <string>

#include "unit/store/golden.h"

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

TEST_CASE("a block's key is as docs/format.md shows it") {
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

}  // namespace
}  // namespace ers::store
