#include <catch2/catch.hpp>

#include "protocol/command_line.h"
#include "protocol/exptime.h"
#include "shared/base64.h"

namespace ers::proxy {
namespace {

TEST_CASE("base64 of RFC 4648's examples") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"f", "Zg=="},        {"fo", "Zm8="},        {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    std::string out;
    AppendBase64(bytes, out);
    CHECK(out == text);
    REQUIRE(DecodeBase64(text, out));
    CHECK(out == bytes);
  }
}

TEST_CASE("base64 brings every byte back, of any length") {
  std::string bytes;
  for (int i = 0; i < 600; ++i) {
    bytes += static_cast<char>(i * 7 + i / 256);
    std::string text;
    AppendBase64(bytes, text);
    std::string back = "left over";
    REQUIRE(DecodeBase64(text, back));
    REQUIRE(back == bytes);
  }
}

TEST_CASE("what is no base64") {
  for (const std::string_view text :
       {"", "Z", "Zg", "Zg=", "Z===", "====", "Zm9v=", "Zm9vZ", "=Zm9", "Zm=v",
        "Zg==Zg==", "Zm!9", "Zm_-", "Zm9 ", "Zm9\x80"}) {
    CAPTURE(text);
    std::string out;
    CHECK_FALSE(DecodeBase64(text, out));
  }
}

TEST_CASE("an exptime is relative up to 30 days") {
  constexpr std::int64_t kNow = 1'700'000'000;
  constexpr std::int64_t kMonth = 2'592'000;
  CHECK(ExpiryOf(0, kNow) == 0);
  CHECK(ExpiryOf(1, kNow) == kNow + 1);
  CHECK(ExpiryOf(kMonth, kNow) == kNow + kMonth);
  CHECK(ExpiryOf(kMonth + 1, kNow) == kMonth + 1);
  CHECK(ExpiryOf(kNow + 5, kNow) == kNow + 5);
  CHECK(ExpiryOf(9'999'999'999, kNow) == 9'999'999'999);
  CHECK(ExpiryOf(-1, kNow) == kExpiredAtOnce);
  CHECK(ExpiryOf(std::numeric_limits<std::int64_t>::min(), kNow) ==
        kExpiredAtOnce);
}

TEST_CASE("an exptime of a text command has 32 bits and a sign") {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"0", 0},
      {"-1", -1},
      {"2147483647", 2147483647},
      {"2147483648", -2147483648},
      {"4294967196", -100},
      {"4294967295", -1},
      {"4294967296", 0},
      {"4294967301", 5},
      {"-2147483649", 2147483647},
      {"9223372036854775807", -1},
      {"-9223372036854775808", 0}};
  for (const auto& [text, exptime] : cases) {
    CAPTURE(text);
    std::int64_t number = 7;
    REQUIRE(ParseExptime(text, number));
    CHECK(number == exptime);
  }
  std::int64_t number = 7;
  for (const std::string_view text :
       {"", "x", "9223372036854775808", "-9223372036854775809"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseExptime(text, number));
  }
}

template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  T number = 7;
  return ParseNumber(text, number) ? std::optional(number) : std::nullopt;
}

TEST_CASE(
    "a number has white space and a sign before it, and white space behind") {
  for (const std::string_view text :
       {"5", "+5", "\t5", " \n\v\f\r\t+5", "5\n", "5\r\n", "5\tx", "5 -", "005",
        "5\nabc"}) {
    CAPTURE(text);
    CHECK(NumberIn<std::uint64_t>(text) == 5);
    CHECK(NumberIn<std::int64_t>(text) == 5);
    CHECK(NumberIn<std::uint32_t>(text) == 5);
  }
  for (const std::string_view text : {"", " ", "+", "-", "+-5", "-+5", "++5",
                                      "- 5", "5x", "x5", "5-", "0x5", "5.0",
                                      "\xa0"
                                      "5",
                                      "5\xa0", "18446744073709551616"}) {
    CAPTURE(text);
    CHECK_FALSE(NumberIn<std::uint64_t>(text));
    CHECK_FALSE(NumberIn<std::int64_t>(text));
    CHECK_FALSE(NumberIn<std::uint32_t>(text));
  }
}

TEST_CASE("an unsigned number below 0 wraps around, if not to 2^63 and more") {
  CHECK(NumberIn<std::int64_t>("-5") == -5);
  CHECK(NumberIn<std::uint64_t>("-0") == 0);
  CHECK_FALSE(NumberIn<std::uint64_t>("-5"));
  CHECK_FALSE(NumberIn<std::uint32_t>("-5"));
  CHECK_FALSE(NumberIn<std::uint64_t>("-9223372036854775808"));
  CHECK(NumberIn<std::uint64_t>("-9223372036854775809") == 9223372036854775807);
  CHECK(NumberIn<std::uint64_t>("-18446744073709551615") == 1);
  // A minus anywhere counts, as it does in memcached.
  CHECK(NumberIn<std::uint64_t>("18446744073709551615 x") == ~std::uint64_t{0});
  CHECK_FALSE(NumberIn<std::uint64_t>("18446744073709551615 -"));
}

TEST_CASE("the length of a value") {
  std::uint64_t length = 0;
  CHECK((ParseLength("2147483645", length) && length == 2147483645));
  for (const std::string_view text :
       {"2147483646", "4294967297", "-1", "-18446744073709551615", "x"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseLength(text, length));
  }
}

}  // namespace
}  // namespace ers::proxy
