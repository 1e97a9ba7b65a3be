// Hashes of keys. Where they are others', their values are: of the CRCs by the
// catalogue of their parameters, of FNV by its authors' page, of Ch3 computed
// by mcrouter's own function; the rest is compared with twemproxy in
// tests/proxy/placement_test.py.
#include "net/key_hash.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

namespace ers::net {
namespace {

TEST_CASE("hashes give their published check values") {
  CHECK(HashOf(KeyHash::kCrc32a, "123456789") == 0xcbf43926);
  CHECK(HashOf(KeyHash::kCrc32a31, "123456789") == 0x4bf43926);
  CHECK(HashOf(KeyHash::kCrc32, "123456789") == 0x4bf4);
  CHECK((HashOf(KeyHash::kCrc16, "123456789") & 0xffff) == 0x31c3);
  CHECK(HashOf(KeyHash::kFnv1a_32, "foobar") == 0xbf9cf968);
  CHECK(HashOf(KeyHash::kFnv1_32, "foobar") == 0x31f0b262);
  // The low 32 bits.
  CHECK(HashOf(KeyHash::kFnv1_64, "foobar") == 0xa4dda9c2);
  CHECK(HashOf(KeyHash::kMd5, "") == 0xd98c1dd4);
  CHECK(HashOf(KeyHash::kHsieh, "") == 0);
}

TEST_CASE("a hash is known again by its name, and by no other") {
  for (const KeyHash hash :
       {KeyHash::kMd5, KeyHash::kOneAtATime, KeyHash::kCrc16, KeyHash::kCrc32,
        KeyHash::kCrc32a, KeyHash::kCrc32a31, KeyHash::kFnv1_64,
        KeyHash::kFnv1a_64, KeyHash::kFnv1_32, KeyHash::kFnv1a_32,
        KeyHash::kHsieh, KeyHash::kMurmur, KeyHash::kJenkins}) {
    CHECK(KeyHashNamed(NameOf(hash)) == hash);
  }
  CHECK_FALSE(KeyHashNamed("fnv"));
  CHECK_FALSE(KeyHashNamed(""));
}

TEST_CASE("Ch3 gives the numbers that mcrouter's function gives") {
  struct Case {
    const char* key;
    std::uint32_t count;
    std::uint32_t number;
  };
  const auto c = GENERATE(values<Case>({
      {"", 1, 0},
      {"", 100, 72},
      {"a", 6, 4},
      {"a", 8388607, 7695180},
      {"key:1", 2, 1},
      {"key:1", 7, 5},
      {"key:1", 8388607, 889911},
      {"some-longer-key-with-more-than-8", 6, 5},
      {"some-longer-key-with-more-than-8", 100, 79},
      {"0123456789abcdef", 8388607, 2093260},
      {"\xc3\xa4", 100, 61},
      {"\xc3\xa4", 8388607, 5081804},
  }));
  CAPTURE(c.key, c.count);
  CHECK(FurcHash(c.key, c.count) == c.number);
}

TEST_CASE("Ch3 gives them for ten thousand keys and up to 97 servers") {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    sum = sum * 31 + FurcHash(fmt::format("key:{}", i * 7919), 1 + i % 97);
  }
  CHECK(sum == 7301917689511372791U);
}

}  // namespace
}  // namespace ers::net
