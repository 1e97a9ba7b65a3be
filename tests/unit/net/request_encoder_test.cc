#include "net/request_encoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "net_calls.h"

namespace ers::net {
namespace {

using test::Call;

std::string Text(const RequestEncoder& encoder) {
  std::string text;
  for (int i = 0; i < encoder.piece_count(); ++i) {
    const iovec& piece = encoder.pieces()[i];
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return text;
}

std::string Encoded(const Request& request) {
  RequestEncoder encoder;
  REQUIRE(encoder.Append(request));
  return Text(encoder);
}

TEST_CASE("every verb becomes its command") {
  CHECK(Encoded(Call(Verb::kGet, "k")) == "mg k v c f t s\r\n");
  CHECK(Encoded(Call(Verb::kHead, "k")) == "mg k c f t s\r\n");
  CHECK(Encoded(Call(Verb::kDelete, "k")) == "md k\r\n");
  CHECK(Encoded(Call(Verb::kStats)) == "stats\r\n");
  CHECK(Encoded(Call(Verb::kStats, "items")) == "stats items\r\n");
  CHECK(Encoded(Call(Verb::kVersion)) == "version\r\n");
  CHECK(Encoded(Call(Verb::kMetadump)) == "lru_crawler metadump hash\r\n");

  CHECK(Encoded(Call(Verb::kWatch, "evictions")) == "watch evictions\r\n");

  Call with_token(Verb::kDelete, "k");
  with_token.token = 7;
  CHECK(Encoded(with_token) == "md k C7\r\n");
  with_token.verb = Verb::kRenew;
  CHECK(Encoded(with_token) == "md k I C7\r\n");
  with_token.token = 0;
  with_token.exptime = 300;
  CHECK(Encoded(with_token) == "md k I T300\r\n");
  Call no_bump(Verb::kGet, "k");
  no_bump.no_bump = true;
  CHECK(Encoded(no_bump) == "mg k v c f t s u\r\n");
  no_bump.verb = Verb::kHead;
  CHECK(Encoded(no_bump) == "mg k c f t s u\r\n");
  Call reported(Verb::kGet, "k");
  reported.report_access = true;
  CHECK(Encoded(reported) == "mg k v c f t s h l\r\n");
  reported.no_bump = true;
  CHECK(Encoded(reported) == "mg k v c f t s h l u\r\n");
  Call vivify(Verb::kVivify, "k");
  vivify.exptime = 60;
  CHECK(Encoded(vivify) == "mg k v c f t s N60\r\n");
  Call touch(Verb::kTouch, "k");
  touch.exptime = -1;
  CHECK(Encoded(touch) == "mg k T-1\r\n");

  Call set(Verb::kSet, "k");
  set.Body("value").client_flags = 7;
  set.exptime = 9;
  CHECK(Encoded(set) == "ms k 5 T9 F7\r\nvalue\r\n");
  set.Body("");
  CHECK(Encoded(set) == "ms k 0 T9 F7\r\n\r\n");

  Call cas(Verb::kCas, std::string(250, 'k'));
  cas.client_flags = std::numeric_limits<std::uint32_t>::max();
  cas.exptime = std::numeric_limits<std::int64_t>::min();
  cas.token = std::numeric_limits<std::uint64_t>::max();
  CHECK(Encoded(cas.Body("v")) ==
        "cas " + std::string(250, 'k') +
            " 4294967295 -9223372036854775808 1 18446744073709551615\r\nv\r\n");

  Call then_token(Verb::kCas, "k");
  then_token.token = 7;
  then_token.then_token = true;
  CHECK(Encoded(then_token.Body("v")) ==
        "cas k 0 0 1 7\r\nv\r\nmg k c f u\r\n");
}

TEST_CASE("values are not copied and lines between them are one piece") {
  RequestEncoder encoder;
  Call first(Verb::kSet, "a");
  Call second(Verb::kSet, "b");
  const iovec pieces[] = {{const_cast<char*>("123"), 3},
                          {nullptr, 0},
                          {const_cast<char*>("4567"), 4}};
  first.body = pieces;
  second.Body("x");
  REQUIRE(encoder.Append(first));
  REQUIRE(encoder.Append(second));
  CHECK(Text(encoder) == "ms a 7 T0 F0\r\n1234567\r\nms b 1 T0 F0\r\nx\r\n");
  REQUIRE(encoder.piece_count() == 6);
  CHECK(encoder.pieces()[1].iov_base == pieces[0].iov_base);
  CHECK(encoder.pieces()[2].iov_base == pieces[2].iov_base);
}

TEST_CASE("what was written is gone, wherever the write stopped") {
  Call set(Verb::kSet, "key");
  set.Body("value");
  Call get(Verb::kGet, "key");
  const std::string whole = Encoded(set) + Encoded(get);
  for (std::size_t first = 0; first <= whole.size(); ++first) {
    for (std::size_t second = 0; second <= whole.size() - first; ++second) {
      RequestEncoder encoder;
      REQUIRE(encoder.Append(set));
      REQUIRE(encoder.Append(get));
      REQUIRE(encoder.total_bytes() == whole.size());
      encoder.Advance(first);
      REQUIRE(Text(encoder) == whole.substr(first));
      encoder.Advance(second);
      REQUIRE(Text(encoder) == whole.substr(first + second));
      REQUIRE(encoder.empty() == (first + second == whole.size()));
      REQUIRE(encoder.written_bytes() == first + second);
    }
  }
}

TEST_CASE("a full batch takes no more and is whole") {
  RequestEncoder encoder;
  const Call get(Verb::kGet, std::string(250, 'k'));
  const std::string one = Encoded(get);
  std::string all;
  while (encoder.Append(get)) all += one;
  CHECK(all.size() > 10000);
  CHECK(Text(encoder) == all);
  encoder.Clear();
  CHECK(encoder.empty());
  CHECK(encoder.total_bytes() == 0);
  REQUIRE(encoder.Append(get));
  CHECK(Text(encoder) == one);
}

TEST_CASE("keys are valid by their length and bytes") {
  CHECK(IsValidKey("k"));
  CHECK(IsValidKey(std::string(250, 'k')));
  CHECK_FALSE(IsValidKey(std::string(251, 'k')));
  CHECK_FALSE(IsValidKey(""));
  for (int c = 0; c < 256; ++c) {
    const bool valid = c > 0x20 && c != 0x7f;
    CHECK(IsValidKey(std::string("a") + static_cast<char>(c)) == valid);
  }
}

}  // namespace
}  // namespace ers::net
