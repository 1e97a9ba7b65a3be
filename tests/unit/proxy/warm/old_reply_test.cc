// What an old pool's server answers.
#include "warm/old_reply.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace ers::proxy {
namespace {

TEST_CASE("with any time to live of an old server's a time can be reckoned") {
  const auto [ttl, least] = GENERATE(
      std::pair<std::string, std::int64_t>{"-1", -1}, std::pair{"0", 0},
      std::pair{"60", 60}, std::pair{"4294967295", 4294967295},
      std::pair{"9223372036854775807", std::int64_t{1} << 32});
  CAPTURE(ttl);
  const std::string text = "VA 1 f3 t" + ttl + "\r\nx\r\n";
  std::string_view bytes = text;
  OldReplyParser parser(100);
  REQUIRE(parser.Parse(&bytes) == OldReplyParser::Progress::kDone);
  const OldReply reply = parser.Take();
  CHECK(reply.client_flags == 3);
  CHECK(reply.value == "x");
  CHECK(reply.ttl >= least);
  // Added to a time of day.
  CHECK(reply.ttl <= std::numeric_limits<std::int64_t>::max() / 2);
}

}  // namespace
}  // namespace ers::proxy
