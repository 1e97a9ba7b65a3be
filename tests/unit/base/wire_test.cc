#include "base/wire.h"

#include <catch2/catch.hpp>
#include <string>

namespace ers {
namespace {

TEST_CASE("numbers are stored with their lowest byte first") {
  std::string out;
  WireWriter wire(out);
  wire.Put(std::uint8_t{0x01});
  wire.Put(std::uint16_t{0x0302});
  wire.Put(std::uint32_t{0x07060504});
  wire.Put(std::uint64_t{0xff0e0d0c0b0a0908});
  wire.PutBytes("ab");
  CHECK(out == std::string("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"
                           "\x0d\x0e\xff"
                           "ab"));
}

TEST_CASE("what is written is read back") {
  std::string out;
  WireWriter wire(out);
  wire.Put(std::uint8_t{0xf1});
  wire.Put(std::uint16_t{0xf2f3});
  wire.Put(std::uint32_t{0xf4f5f6f7});
  wire.Put(std::uint64_t{0xf8f9fafbfcfdfeff});
  wire.PutBytes("tail");
  WireReader reader(out);
  CHECK(reader.Get<std::uint8_t>() == 0xf1);
  CHECK(reader.Get<std::uint16_t>() == 0xf2f3);
  CHECK(reader.Get<std::uint32_t>() == 0xf4f5f6f7);
  CHECK(reader.Get<std::uint64_t>() == 0xf8f9fafbfcfdfeff);
  CHECK(reader.left() == 4);
  CHECK(reader.GetBytes(4) == "tail");
  CHECK(reader.left() == 0);
  CHECK(reader.ok());
}

TEST_CASE("a reader that ran short gives zeros and stays so") {
  const std::string bytes(7, '\x55');
  for (std::size_t size = 0; size < 8; ++size) {
    CAPTURE(size);
    WireReader reader(std::string_view(bytes).substr(0, size));
    CHECK(reader.Get<std::uint64_t>() == 0);
    CHECK_FALSE(reader.ok());
    CHECK(reader.Get<std::uint8_t>() == 0);
    CHECK(reader.GetBytes(0).empty());
    CHECK_FALSE(reader.ok());
  }
  WireReader reader(bytes);
  CHECK(reader.GetBytes(8).empty());
  CHECK_FALSE(reader.ok());
  WireReader empty("");
  CHECK(empty.GetBytes(0).empty());
  CHECK(empty.ok());
}

}  // namespace
}  // namespace ers
