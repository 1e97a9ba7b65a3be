#include "cli/units.h"

#include <catch2/catch.hpp>

namespace ers::cli {
namespace {

TEST_CASE("bytes are taken with the units of 1000 and of 1024") {
  CHECK(ParseBytes("0") == 0);
  CHECK(ParseBytes("4096") == 4096);
  CHECK(ParseBytes("4096B") == 4096);
  CHECK(ParseBytes("1kB") == 1000);
  CHECK(ParseBytes("1KB") == 1000);
  CHECK(ParseBytes("1KiB") == 1024);
  CHECK(ParseBytes("64MiB") == 64U << 20);
  CHECK(ParseBytes("64 MiB") == 64U << 20);
  CHECK(ParseBytes("1.5MiB") == 3U << 19);
  CHECK(ParseBytes("50MB/s") == 50'000'000);
  CHECK(ParseBytes("1.1GB") == 1'100'000'000);
  CHECK(ParseBytes("2TiB") == std::uint64_t{1} << 41);
  CHECK(ParseBytes("18446744073709551615") == 18446744073709551615U);
}

TEST_CASE("what are no bytes is refused") {
  for (const char* text :
       {"", "-1", "+1", "1.5", "0.3B", "MiB", "1M", "1mb", "1 MiB ", " 1",
        "1  MiB", "1e3", "0x10", "nan", "inf", "1MiB/h", "10000000TiB",
        "18446744073709551616", "1/s/s"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseBytes(text));
  }
}

TEST_CASE("times are taken with units, alone they are seconds") {
  CHECK(ParseSeconds("90") == 90);
  CHECK(ParseSeconds("0.5") == 0.5);
  CHECK(ParseSeconds("500ms") == 0.5);
  CHECK(ParseSeconds("90s") == 90);
  CHECK(ParseSeconds("5m") == 300);
  CHECK(ParseSeconds("5min") == 300);
  CHECK(ParseSeconds("1.5h") == 5400);
  CHECK(ParseSeconds("7d") == 604800);
  CHECK(ParseSeconds("2w") == 1209600);
  for (const char* text : {"", "soon", "-1", "7days", "1h30m", "nan", "inf"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseSeconds(text));
  }
}

TEST_CASE("amounts are shown with three digits at most") {
  CHECK(BytesText(0) == "0 bytes");
  CHECK(BytesText(1023) == "1023 bytes");
  CHECK(BytesText(1024) == "1 KiB");
  CHECK(BytesText(1536) == "1.5 KiB");
  CHECK(BytesText(1677728) == "1.6 MiB");
  CHECK(BytesText(12'900'000) == "12.3 MiB");
  CHECK(BytesText(std::uint64_t{123} << 30) == "123 GiB");
  CHECK(BytesText(18446744073709551615U) == "16 EiB");
  CHECK(ExactBytesText(1000) == "1000 bytes");
  CHECK(ExactBytesText(1048576) == "1048576 bytes (1 MiB)");
}

TEST_CASE("times are shown by their two largest units") {
  CHECK(SecondsText(0) == "0 s");
  CHECK(SecondsText(45.4) == "45 s");
  CHECK(SecondsText(60) == "1 min");
  CHECK(SecondsText(200) == "3 min 20 s");
  CHECK(SecondsText(3600) == "1 h");
  CHECK(SecondsText(7500) == "2 h 5 min");
  CHECK(SecondsText(86400 * 2 + 3600 * 5) == "2 d 5 h");
}

}  // namespace
}  // namespace ers::cli
