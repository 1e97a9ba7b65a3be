// Connections through an HTTP proxy: the answer to CONNECT, the stream behind
// it, and what a link says of a proxy that fails.
#include "net/tunnel_stream.h"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/connect_reply.h"
#include "net/server_link.h"
#include "unit/net/fake_runtime.h"

namespace ers::net {
namespace {

using test::FakeRuntime;
using test::Wire;

constexpr char kEstablished[] = "HTTP/1.1 200 Connection established\r\n\r\n";

std::string Refusal(int code, const std::string& body) {
  return fmt::format(
      "HTTP/1.1 {} Some Words\r\nServer: x\r\ncontent-length:  "
      "{}\r\n\r\n{}",
      code, body.size(), body);
}

Endpoint At(const std::string& text) { return *ParseEndpoint(text); }

// What one stream reports.
struct Handler final : StreamHandler {
  void OnConnected() override { ++connected; }
  void OnReadable() override {
    std::array<char, 64> buffer;
    const iovec piece{buffer.data(), buffer.size()};
    const ssize_t moved = stream->ReadV(&piece, 1);
    if (moved > 0) got.append(buffer.data(), static_cast<std::size_t>(moved));
    if (moved == 0) stream.reset();
  }
  void OnWritable() override { ++writable; }
  void OnFailed(const std::string& reason) override {
    failed = reason;
    stream.reset();
  }

  std::unique_ptr<Stream> stream;
  int connected = 0;
  int writable = 0;
  std::string got;
  std::string failed;
};

struct Fixture {
  FakeRuntime runtime;
  Handler handler;

  explicit Fixture(const std::string& token = "") {
    runtime.through = HttpProxy{At("proxy:80"), token};
  }
  void Connect(const std::string& server) {
    handler.stream = runtime.Connect(At(server), handler);
  }
};

TEST_CASE("a tunnel asks for the server by its name") {
  const auto [server, authority] =
      GENERATE(std::pair{"10.0.0.1:11211:3=label", "10.0.0.1:11211"},
               std::pair{"some.host:1", "some.host:1"},
               std::pair{"[fe80::1]:11211", "[fe80::1]:11211"},
               std::pair{"[fe80::1%eth0]:11211", "fe80%3A%3A1%25eth0:11211"},
               std::pair{"/run/a b%.sock", "%2Frun%2Fa%20b%25.sock:0"});
  Fixture f;
  f.Connect(server);
  f.runtime.RunAll();
  CHECK(f.runtime.last().received ==
        fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", authority));
  CHECK(f.handler.connected == 0);
}

TEST_CASE("a token goes along, also where the proxy takes a byte at a time") {
  Fixture f("secret");
  f.runtime.on_connect = [](Wire& wire) { wire.write_room = 1; };
  f.Connect("a:1");
  for (int i = 0; i < 200; ++i) {
    f.runtime.RunAll();
    f.runtime.last().write_room = 1;
  }
  CHECK(f.runtime.last().received ==
        "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n"
        "Proxy-Authorization: Bearer secret\r\n\r\n");
  CHECK(f.handler.writable == 0);
}

TEST_CASE("what the server says behind the proxy's answer is the handler's") {
  const std::string head =
      GENERATE(std::string(kEstablished), std::string("HTTP/1.1 200\r\n\r\n"),
               std::string("HTTP/1.0 204 x\r\nContent-Length: 3\r\n\r\n"));
  const std::string all = head + "VERSION 1\r\n\r\n\r\n";
  const auto split = GENERATE_COPY(range<std::size_t>(0, all.size() + 1));
  CAPTURE(head, split);
  Fixture f;
  f.runtime.on_connect = [&](Wire& wire) {
    wire.outgoing = all.substr(0, split);
  };
  f.Connect("a:1");
  f.runtime.RunAll();
  CHECK(f.handler.connected == (split >= head.size() ? 1 : 0));
  f.runtime.last().outgoing += all.substr(split);
  f.runtime.RunAll();
  CHECK(f.handler.connected == 1);
  CHECK(f.handler.got == "VERSION 1\r\n\r\n\r\n");
  CHECK(f.handler.failed.empty());
  CHECK(dynamic_cast<const ByWay&>(*f.handler.stream).Obstacle().empty());
}

TEST_CASE("a refusal comes in the proxy's words") {
  struct Case {
    std::string reply;
    std::string said;
  };
  const std::string json = R"({"error":"the server cannot be reached: x"})";
  const Case each = GENERATE_COPY(values<Case>({
      {Refusal(502, json), "says: the server cannot be reached: x"},
      {Refusal(504, json), "says: the server cannot be reached: x"},
      {Refusal(503, R"({"error":"too many"})"), "says: too many"},
      {Refusal(403, R"({"error":"not a server"})"), "says: not a server"},
      {Refusal(407, "{}"), "says: HTTP status 407 Some Words"},
      {Refusal(502, "<html>"), "says: HTTP status 502 Some Words"},
      {Refusal(400, "{\"error\":\"\\u00e4\\n\"}"), "says: ???"},
      {"HTTP/1.1 302 y\r\n\r\n", "says: HTTP status 302 y"},
      {"ERROR\r\n", "is none: it does not speak HTTP"},
      {"HTTP/1.1 2x0 OK\r\n\r\n", "is none: it does not speak HTTP"},
      {"HTTP/1.1 20\r\n\r\nxxxx", "is none: it does not speak HTTP"},
      {"HTTP/1.1 200 " + std::string(9000, 'x'), "has no end"},
  }));
  CAPTURE(each.reply.substr(0, 60));
  Fixture f;
  f.runtime.on_connect = [&](Wire& wire) {
    wire.outgoing = each.reply;
    wire.read_limit = 3;
  };
  f.Connect("a:1");
  f.runtime.RunAll();
  CHECK(f.handler.failed.starts_with("the proxy at proxy:80 "));
  CHECK_THAT(f.handler.failed, Catch::Contains(each.said));
  CHECK(f.handler.connected == 0);
}

TEST_CASE("a proxy that cannot be reached, or goes, is named") {
  Fixture f;
  SECTION("refused") {
    f.runtime.on_connect = [](Wire& wire) { wire.refuse = "no route"; };
    f.Connect("a:1");
    f.runtime.RunAll();
    CHECK(f.handler.failed ==
          "the proxy at proxy:80 cannot be reached: no route");
  }
  SECTION("closed without an answer") {
    f.runtime.on_connect = [](Wire& wire) { wire.closed = true; };
    f.Connect("a:1");
    f.runtime.RunAll();
    CHECK_THAT(f.handler.failed, Catch::Contains("without an answer"));
  }
  SECTION("broken") {
    f.Connect("a:1");
    f.runtime.RunAll();
    f.runtime.last().broken = ECONNRESET;
    f.runtime.RunAll();
    CHECK_THAT(f.handler.failed, Catch::Contains("has gone"));
  }
  SECTION("a refusal that is cut short says what there is") {
    f.runtime.on_connect = [](Wire& wire) {
      wire.outgoing = "HTTP/1.1 503 Busy\r\nContent-Length: 50\r\n\r\n{";
      wire.closed = true;
    };
    f.Connect("a:1");
    f.runtime.RunAll();
    CHECK_THAT(f.handler.failed, Catch::Contains("HTTP status 503 Busy"));
  }
}

TEST_CASE("what ends an open tunnel is what ends any stream") {
  Fixture f;
  f.runtime.on_connect = [](Wire& wire) { wire.outgoing = kEstablished; };
  f.Connect("a:1");
  f.runtime.RunAll();
  REQUIRE(f.handler.connected == 1);
  f.runtime.last().outgoing = "rest";
  f.runtime.last().closed = true;
  f.runtime.RunAll();
  CHECK(f.handler.got == "rest");
  CHECK(f.handler.stream == nullptr);
  CHECK(f.handler.failed.empty());
}

// --- A link -----------------------------------------------------------------

struct LinkFixture : Fixture {
  Request request;
  std::optional<ServerLink> link;

  LinkFixture() {
    request.verb = Verb::kVersion;
    request.done = [](Request&) {};
    link.emplace(runtime, At("server:1"), 0, LinkOptions{}, nullptr);
  }
  void Try() {
    link->Submit(request);
    runtime.RunAll();
  }
};

TEST_CASE("a link that waits in vain names what it waits for") {
  LinkFixture f;
  SECTION("for the proxy") {
    f.runtime.on_connect = [](Wire& wire) { wire.silent = true; };
    f.Try();
    f.runtime.Pass(std::chrono::seconds(1));
    CHECK_THAT(f.link->last_error(),
               Catch::StartsWith("no connection to the proxy at proxy:80"));
  }
  SECTION("for its answer") {
    f.Try();
    f.runtime.Pass(std::chrono::seconds(1));
    CHECK_THAT(f.link->last_error(),
               Catch::StartsWith("no answer of the proxy at proxy:80"));
  }
  SECTION("for the server's") {
    f.runtime.on_connect = [](Wire& wire) { wire.outgoing = kEstablished; };
    f.Try();
    f.runtime.Pass(std::chrono::seconds(1));
    CHECK_THAT(f.link->last_error(),
               Catch::StartsWith("connected, but no answer"));
  }
}

}  // namespace
}  // namespace ers::net
