#include "net/endpoint.h"

#include <catch2/catch.hpp>
#include <string>

namespace ers::net {
namespace {

TEST_CASE("endpoints of every kind are understood") {
  struct Case {
    std::string text;
    std::string host;
    int port;
    std::string path;
    int weight;
    std::string name;
  };
  const auto c = GENERATE(values<Case>({
      {"a:1", "a", 1, "", 1, "a:1"},
      {"cache-1.example.org:65535", "cache-1.example.org", 65535, "", 1,
       "cache-1.example.org:65535"},
      {"127.0.0.1:11211:1000", "127.0.0.1", 11211, "", 1000, "127.0.0.1:11211"},
      {"[::1]:11211", "::1", 11211, "", 1, "[::1]:11211"},
      {"[fe80::1%eth0]:1:2", "fe80::1%eth0", 1, "", 2, "[fe80::1%eth0]:1"},
      {"/run/m.sock", "", 0, "/run/m.sock", 1, "/run/m.sock"},
      {"/run/m.sock:7", "", 0, "/run/m.sock", 7, "/run/m.sock"},
      {"/run/a:b", "", 0, "/run/a:b", 1, "/run/a:b"},
      {"unix:/run/m.sock", "", 0, "/run/m.sock", 1, "/run/m.sock"},
      {"unix:/run/m.sock:3", "", 0, "/run/m.sock", 3, "/run/m.sock"},
      {"/" + std::string(106, 'p'), "", 0, "/" + std::string(106, 'p'), 1,
       "/" + std::string(106, 'p')},
  }));
  CAPTURE(c.text);
  const auto endpoint = ParseEndpoint(c.text);
  REQUIRE(endpoint);
  CHECK(endpoint->host == c.host);
  CHECK(endpoint->port == c.port);
  CHECK(endpoint->path == c.path);
  CHECK(endpoint->weight == c.weight);
  CHECK(endpoint->name() == c.name);
  CHECK(endpoint->is_unix() == !c.path.empty());
}

TEST_CASE("what is not an endpoint is refused with its text") {
  const std::string text = GENERATE(
      as<std::string>(), "", "host", ":11211", "host:", "host:0", "host:65536",
      "host:-1", "host:+1", "host:1x", "host:99999999999999999999", "host:1:0",
      "host:1:1001", "host:1:", "host:1:2:3", "ho st:1", "host :1", "::1:11211",
      "[::1]", "[::1]11211", "[::1:11211", "[]:1", "[host]:1", "[::1 ]:1", "/",
      "/p:0", "/p:1001", "unix:", "unix:p", "unix:/",
      "/" + std::string(107, 'p'), "host\n:1");
  CAPTURE(text);
  const auto endpoint = ParseEndpoint(text);
  REQUIRE_FALSE(endpoint);
  CHECK(endpoint.error().code() == StatusCode::kInvalidArgument);
  CHECK(endpoint.error().message().starts_with("server \"" + text + "\": "));
}

TEST_CASE("what is beside a server's address is named") {
  struct Case {
    const char* text;
    const char* why;
  };
  const auto c = GENERATE(values<Case>({
      {"a:1, b:1",
       "server \" b:1\": a blank is in it: servers stand apart by "
       "commas alone"},
      {"a:1 b:1",
       "server \"a:1 b:1\": a blank is in it: servers stand apart "
       "by commas alone"},
      {"a:1\n",
       "server \"a:1\n\": a blank is in it: servers stand apart by "
       "commas alone"},
      {"http://a:1",
       "server \"http://a:1\": give host:port alone, without "
       "\"http://\""},
      {"a:1,,b:1", "server \"\": a comma is one too many"},
      {"a", "server \"a\": the port is missing, as in a:11211"},
      {"[::1]", "server \"[::1]\": the port is missing, as in [::1]:11211"},
      {":11211",
       "server \":11211\": the host is missing, as in 127.0.0.1:11211"},
      {"::1:11211",
       "server \"::1:11211\": write an IPv6 address in brackets, as "
       "[::1]:11211"},
      {"fe80:0:0:1",
       "server \"fe80:0:0:1\": write an IPv6 address in brackets, as "
       "[::1]:11211"},
  }));
  CAPTURE(c.text);
  const auto list = ParseEndpoints(c.text);
  REQUIRE_FALSE(list);
  CHECK(list.error().message() == c.why);
}

TEST_CASE("a label stands behind all, of a path behind its weight") {
  const auto tcp = ParseEndpoint("a:1:3=name-1");
  REQUIRE(tcp);
  CHECK(tcp->name() == "a:1");
  CHECK(tcp->weight == 3);
  CHECK(tcp->label == "name-1");
  const auto path = ParseEndpoint("/run/a=b:2=c");
  REQUIRE(path);
  CHECK(path->path == "/run/a=b");
  CHECK(path->label == "c");
  CHECK(ParseEndpoint("/run/a=b")->path == "/run/a=b");
  CHECK(ParseEndpoint("/run/a=b")->label.empty());
  for (const char* text : {"a:1=", "a:1=b c", "a:1=\n", "/run/a:1="}) {
    CAPTURE(text);
    const auto refused = ParseEndpoint(text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("label") != std::string::npos);
  }
}

TEST_CASE("lists of endpoints keep their order and refuse what is doubled") {
  const auto list = ParseEndpoints("b:2,a:1:5,/s,[::1]:1");
  REQUIRE(list);
  REQUIRE(list->size() == 4);
  CHECK((*list)[0].name() == "b:2");
  CHECK((*list)[1].weight == 5);
  CHECK((*list)[2].path == "/s");
  CHECK((*list)[3].host == "::1");

  const auto doubled = ParseEndpoints("a:1,b:2,a:1:3");
  REQUIRE_FALSE(doubled);
  CHECK(doubled.error().message().find("\"a:1\"") != std::string::npos);
  CHECK_FALSE(ParseEndpoints(""));
  CHECK_FALSE(ParseEndpoints("a:1,"));
  CHECK_FALSE(ParseEndpoints(",a:1"));
  CHECK_FALSE(ParseEndpoints("a:1,,b:1"));
}

}  // namespace
}  // namespace ers::net
