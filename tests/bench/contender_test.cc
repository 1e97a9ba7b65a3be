// Contenders on real memcached processes.
#include "bench/contender.h"

#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <random>

#include "bench/local_cluster.h"
#include "bench/plain_client.h"

namespace ers::bench {
namespace {

std::vector<std::byte> RandomBytes(std::size_t size, std::mt19937& random) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void CheckContent(Contender& contender, const Key& key,
                  const std::vector<std::byte>& content) {
  const auto got = contender.Get(key);
  REQUIRE(got.has_value());
  CHECK(std::equal(got->begin(), got->end(), content.begin(), content.end()));
  contender.Release();
}

// Put, updates, both ways and updates while wide: the value stays right.
void Exercise(Contender& contender, std::size_t size, std::mt19937& random) {
  CAPTURE(contender.name(), contender.scheme(), size);
  const Key key{3, "contender-" + contender.name()};
  auto content = RandomBytes(size, random);
  REQUIRE(contender.Put(key, content).ok());
  CheckContent(contender, key, content);
  const bool elastic = contender.Measures(Case::kForward);
  for (const Width width : {Width::kWide, Width::kNarrow}) {
    if (elastic) {
      REQUIRE(contender.Transition(key, width).ok());
      CheckContent(contender, key, content);
    }
    const Range range{size / 3, (size + 1) / 2};
    const auto patch = RandomBytes(range.length, random);
    std::copy(patch.begin(), patch.end(),
              content.begin() + static_cast<std::ptrdiff_t>(range.offset));
    REQUIRE(contender.Update(key, content, range).ok());
    CheckContent(contender, key, content);
  }
  REQUIRE(contender.Remove(key).ok());
  CHECK_FALSE(contender.Get(key).has_value());
}

TEST_CASE("Every contender keeps what it is given") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto cluster = LocalCluster::Start("memcached", 6);
  REQUIRE(cluster.has_value());
  for (const char* text : {"ers2:4,1,5", "ers1:2,2,4", "rs:4,2", "rep:3"}) {
    const auto scheme = ParseScheme(text);
    REQUIRE(scheme.has_value());
    for (const std::string& name : ContenderNames()) {
      auto contender = MakeContender(name, {cluster->servers(), *scheme, 2});
      REQUIRE(contender.has_value());
      if (*contender == nullptr) {
        CHECK_FALSE(scheme->elastic());
        continue;
      }
      for (const std::size_t size : {1, 7, 100000}) {
        Exercise(**contender, size, random);
      }
    }
  }
}

TEST_CASE("A contender that does not exist is refused by name") {
  const auto made = MakeContender("paper", {"127.0.0.1:1", Scheme{}, 1});
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(made.error().message(),
             Catch::Contains("'paper'") && Catch::Contains("one-by-one"));
}

TEST_CASE("Servers that cannot be parsed are quoted") {
  for (const char* servers : {"", "host", "host:", "host:0", "host:70000",
                              "[::1]11211", "a:1,,b:2"}) {
    CAPTURE(servers);
    const auto client = PlainClient::Open(servers);
    REQUIRE_FALSE(client.has_value());
    CHECK(client.error().code() == StatusCode::kInvalidArgument);
  }
  CHECK(PlainClient::Open("127.0.0.1:1,[::1]:2:5,/tmp/socket").has_value());
}

TEST_CASE("A miss, a dead server and a value too large are distinguished") {
  const std::string key = "key";
  std::string servers;
  {
    const auto cluster = LocalCluster::Start("memcached", 2);
    REQUIRE(cluster.has_value());
    servers = cluster->servers();
    const auto client = PlainClient::Open(servers);
    REQUIRE(client.has_value());
    const auto miss = (*client)->Get(1, key);
    REQUIRE_FALSE(miss.has_value());
    CHECK(miss.error().code() == StatusCode::kNotFound);
    CHECK((*client)->Delete(1, key).ok());
    const std::vector<std::byte> large(std::size_t{9} << 20);
    const Status refused = (*client)->Set(0, key, large);
    CHECK(refused.code() == StatusCode::kUnavailable);
    CHECK_THAT(refused.message(), Catch::Contains("127.0.0.1:"));
  }
  // The cluster's end is the servers' end.
  const auto client = PlainClient::Open(servers);
  REQUIRE(client.has_value());
  const auto dead = (*client)->Get(0, key);
  REQUIRE_FALSE(dead.has_value());
  CHECK(dead.error().code() == StatusCode::kUnavailable);
}

TEST_CASE("A memcached that is not there is an error that says what to do") {
  const auto cluster = LocalCluster::Start("/no/such/memcached", 2);
  REQUIRE_FALSE(cluster.has_value());
  CHECK_THAT(cluster.error().message(), Catch::Contains("--memcached"));
}

}  // namespace
}  // namespace ers::bench
