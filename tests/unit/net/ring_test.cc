#include "net/ring.h"

#include <fmt/format.h>
#include <libmemcached/memcached.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

namespace ers::net {
namespace {

struct FreeMemcached {
  void operator()(memcached_st* client) const { memcached_free(client); }
};
using Client = std::unique_ptr<memcached_st, FreeMemcached>;

Client NewClient(const std::vector<Endpoint>& members) {
  Client client(memcached_create(nullptr));
  memcached_behavior_set(client.get(), MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
  for (const Endpoint& member : members) {
    const auto weight = static_cast<std::uint32_t>(member.weight);
    if (member.is_unix()) {
      memcached_server_add_unix_socket_with_weight(client.get(),
                                                   member.path.c_str(), weight);
    } else {
      memcached_server_add_with_weight(client.get(), member.host.c_str(),
                                       static_cast<in_port_t>(member.port),
                                       weight);
    }
  }
  REQUIRE(memcached_server_count(client.get()) == members.size());
  return client;
}

// Every kind of host, and the weights at which rounding shows.
std::string ManyMembers(int count, int weights) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    if (i > 0) list += ',';
    list += fmt::format("10.0.{}.{}:{}:{}", i / 7, i, 11209 + i % 5,
                        1 + (i * 37) % weights);
  }
  return list;
}

TEST_CASE("a key's walk begins at the server that libmemcached uses") {
  const std::string list = GENERATE(
      as<std::string>(), "a:1", "a:1,b:1", "127.0.0.1:11211,127.0.0.1:11212",
      "a:11211,b:11211,c:11212", "a:1:3,b:1:1", "a:1:1000,b:1:1,c:2:7",
      "[::1]:11211,[::1]:11212,[fe80::2]:11213:2", "/tmp/a,/tmp/b:2,c:11211",
      ManyMembers(6, 1), ManyMembers(13, 5), ManyMembers(50, 30),
      ManyMembers(100, 1000));
  CAPTURE(list);
  const auto members = ParseEndpoints(list);
  REQUIRE(members);
  const Client client = NewClient(*members);
  const Ring ring(*members);
  CHECK(ring.size() == static_cast<int>(members->size()));
  for (int i = 0; i < 5000; ++i) {
    const std::string key = fmt::format("key:{}", i * 7919);
    const auto expected =
        memcached_generate_hash(client.get(), key.data(), key.size());
    const auto walk = ring.Walk(key, 1);
    if (walk.size() != 1 || walk[0] != static_cast<int>(expected)) {
      FAIL("key " << key << " is on " << expected);
    }
  }
}

TEST_CASE("a walk meets each member once and a shorter one is its beginning") {
  const auto members = ParseEndpoints(ManyMembers(20, 1000));
  REQUIRE(members);
  const Ring ring(*members);
  for (int i = 0; i < 500; ++i) {
    const std::string key = fmt::format("key:{}", i);
    const auto whole = ring.Walk(key, 100);
    auto sorted = whole;
    std::sort(sorted.begin(), sorted.end());
    REQUIRE(sorted.size() == 20);
    for (int member = 0; member < 20; ++member) {
      REQUIRE(sorted[static_cast<std::size_t>(member)] == member);
    }
    const auto some = ring.Walk(key, 5);
    REQUIRE(some == std::vector<int>(whole.begin(), whole.begin() + 5));
  }
  CHECK(ring.Walk("key", 0).empty());
}

TEST_CASE("without the first member, the rest of the walk stays") {
  const auto members = ParseEndpoints("a:1,b:1,c:1,d:1,e:1,f:1");
  REQUIRE(members);
  const Ring ring(*members);
  const auto without =
      ParseEndpoints("b:1,c:1,d:1,e:1,f:1");  // all but the first
  REQUIRE(without);
  const Ring smaller(*without);
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("key:{}", i);
    auto walk = ring.Walk(key, 6);
    walk.erase(std::find(walk.begin(), walk.end(), 0));
    for (int& member : walk) --member;
    REQUIRE(smaller.Walk(key, 5) == walk);
  }
}

}  // namespace
}  // namespace ers::net
