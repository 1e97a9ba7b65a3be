#include "net/placement.h"

#include <fmt/format.h>
#include <libmemcached/memcached.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "net/ring.h"

namespace ers::net {
namespace {

Placement Parsed(const char* distribution, const char* hash,
                 const char* tag = "") {
  const Result<Placement> placement = ParsePlacement(distribution, hash, tag);
  REQUIRE(placement);
  return *placement;
}

std::string Refusal(const char* distribution, const char* hash,
                    const char* tag = "") {
  const Result<Placement> placement = ParsePlacement(distribution, hash, tag);
  REQUIRE_FALSE(placement);
  CHECK(placement.error().code() == StatusCode::kInvalidArgument);
  return placement.error().message();
}

TEST_CASE("a placement without names is libmemcached's") {
  CHECK(Parsed("", "") == Placement());
  CHECK(Parsed("ketama", "md5") == Placement());
  CHECK(Describe(Parsed("modula", "fnv1a_64", "{}")) ==
        "modula with hash fnv1a_64 and hash tag {}");
  CHECK(Describe(Parsed("ch3", "")) == "ch3");
}

TEST_CASE("what is no placement is refused by name") {
  CHECK(Refusal("random", "").find("no server of its own") !=
        std::string::npos);
  CHECK(Refusal("rendezvous", "").find("\"rendezvous\"") != std::string::npos);
  CHECK(Refusal("", "sha1").find("\"sha1\": it must be one of md5, ") !=
        std::string::npos);
  CHECK(Refusal("", "", "{").find("two printable") != std::string::npos);
  CHECK(Refusal("", "", "\n\n").find("two printable") != std::string::npos);
  CHECK(Refusal("ch3", "md5").find("hash of its own") != std::string::npos);
  CHECK(Refusal("ch3", "", "{}").find("hash of its own") != std::string::npos);
}

TEST_CASE("a hash tag is what is between its marks, where there is anything") {
  const Placement tagged = Parsed("", "", "{}");
  CHECK(tagged.Hashed("user:{42}:name") == "42");
  CHECK(tagged.Hashed("{42}{43}") == "42");
  CHECK(tagged.Hashed("a{}b") == "a{}b");
  CHECK(tagged.Hashed("a{b") == "a{b");
  CHECK(tagged.Hashed("a}b{") == "a}b{");
  CHECK(Parsed("", "", "$$").Hashed("a$b$c") == "b");
  CHECK(Parsed("ch3", "").Hashed("a|#|b") == "a");
  CHECK(Parsed("modula", "crc32a_31").Hashed("a|#|b") == "a");
  CHECK(Parsed("modula", "crc32a").Hashed("a|#|b") == "a|#|b");
}

TEST_CASE("modula goes round the list, each server as often as its weight") {
  const auto members = ParseEndpoints("c:1:2,a:1,b:1:3");
  REQUIRE(members);
  // As the store has them: sorted by name.
  const std::vector<Endpoint> sorted = {(*members)[1], (*members)[2],
                                        (*members)[0]};
  const int by_place[] = {2, 2, 0, 1, 1, 1};
  const Placement placement = Parsed("modula", "crc32a");
  const Ring ring(sorted, placement);
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("key:{}", i);
    const auto walk = ring.Walk(key, 3);
    REQUIRE(walk.size() == 3);
    REQUIRE(walk[0] == by_place[HashOf(placement.hash, key) % 6]);
    REQUIRE(walk[1] == (walk[0] + 1) % 3);  // the next one in the list
  }
}

TEST_CASE("libmemcached without options is modula with one_at_a_time") {
  memcached_st* const client = memcached_create(nullptr);
  const auto members = ParseEndpoints("b:1,a:11211,c:7");
  REQUIRE(members);
  for (const Endpoint& member : *members) {
    memcached_server_add(client, member.host.c_str(),
                         static_cast<in_port_t>(member.port));
  }
  const Ring ring(*members, Parsed("modula", "one_at_a_time"));
  int wrong = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("key:{}", i);
    const auto theirs = memcached_generate_hash(client, key.data(), key.size());
    if (ring.Walk(key, 1)[0] != static_cast<int>(theirs)) ++wrong;
  }
  memcached_free(client);
  CHECK(wrong == 0);
}

TEST_CASE("ch3 takes servers by their place in the list, without weights") {
  const auto members = ParseEndpoints("c:1:2,a:1,b:1:3");
  REQUIRE(members);
  const Ring ring(*members, Parsed("ch3", ""));
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("key:{}", i);
    const auto walk = ring.Walk(key, 3);
    REQUIRE(walk[0] == static_cast<int>(FurcHash(key, 3)));
    REQUIRE(walk[1] == (walk[0] + 1) % 3);
  }
}

TEST_CASE("a label is on the ring in place of the address") {
  const auto labelled = ParseEndpoints("a:1=x:7,b:1=y:7:3");
  const auto named = ParseEndpoints("x:7,b:1");
  REQUIRE(labelled);
  REQUIRE(named);
  CHECK((*labelled)[0].label == "x:7");
  CHECK((*labelled)[1].label == "y:7:3");
  std::vector<Endpoint> same = {(*named)[0], (*labelled)[1]};
  const Ring ring(*labelled);
  const Ring other(same);
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("key:{}", i);
    REQUIRE(ring.Walk(key, 2) == other.Walk(key, 2));
  }
}

}  // namespace
}  // namespace ers::net
