#include <catch2/catch.hpp>

#include "protocol/base64.h"
#include "protocol/exptime.h"

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

}  // namespace
}  // namespace ers::proxy
