#include "base/crc32c.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>

namespace ers {
namespace {

// Bit by bit, straight from the polynomial.
std::uint32_t SlowCrc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    }
  }
  return ~crc;
}

TEST_CASE("the checksums of RFC 3720, appendix B.4") {
  CHECK(Crc32c("123456789") == 0xe3069283);
  CHECK(Crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(Crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(Crc32c("") == 0);
}

TEST_CASE("a checksum of pieces is the checksum of the whole") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    bytes.push_back(static_cast<char>(i * 7 + i / 256));
  }
  const std::uint32_t whole = SlowCrc32c(bytes);
  REQUIRE(Crc32c(bytes) == whole);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    CAPTURE(cut);
    const std::string_view all = bytes;
    REQUIRE(Crc32c(all.substr(0, cut)) == SlowCrc32c(all.substr(0, cut)));
    REQUIRE(Crc32c(all.substr(cut), Crc32c(all.substr(0, cut))) == whole);
  }
}

}  // namespace
}  // namespace ers
