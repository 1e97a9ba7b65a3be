// Where a collector takes traces.
#include "config/collector_url.h"

#include <catch2/catch.hpp>
#include <string>

using namespace ers;
using namespace ers::proxy;

TEST_CASE("the path of traces is added to the base of an endpoint") {
  struct Case {
    const char* base;
    const char* host;
    int port;
    const char* text;
  };
  const Case test = GENERATE(values<Case>({
      {"http://otel:4318", "otel", 4318, "http://otel:4318/v1/traces"},
      {"http://otel:4318/", "otel", 4318, "http://otel:4318/v1/traces"},
      {"HTTP://otel/base/", "otel", 80, "http://otel:80/base/v1/traces"},
      {"http://10.0.0.1:1", "10.0.0.1", 1, "http://10.0.0.1:1/v1/traces"},
      {"http://[::1]:4318", "::1", 4318, "http://[::1]:4318/v1/traces"},
  }));
  CAPTURE(test.base);
  const Result<CollectorUrl> url = ParseCollectorUrl(test.base);
  REQUIRE(url);
  CHECK(url->host == test.host);
  CHECK(url->port == test.port);
  CHECK(url->text() == test.text);
}

TEST_CASE("no other address is taken for a collector's") {
  struct Case {
    const char* base;
    const char* why;
  };
  const Case test = GENERATE(values<Case>({
      {"otel:4318", "give http://host:port"},
      {"10.0.0.1:4318", "give http://host:port"},
      {"", "give http://host:port"},
      {"http://", "give http://host:port"},
      {"http:otel", "give http://host:port"},
      {"grpc://otel:4317", "give http://host:port"},
      {"http://otel:port", "give http://host:port"},
      {"http://ot el:4318", "give http://host:port"},
      {"http://otel\r\nA: b:4318", "give http://host:port"},
      {"https://otel:4318", "https is not spoken here"},
      {"http://otel:0", "the port must be a number from 1 to 65535"},
      {"http://otel:65536", "give http://host:port"},
      {"http://me:pw@otel:4318", "it may have a host, a port and a path"},
      {"http://otel:4318?a=b", "it may have a host, a port and a path"},
      {"http://otel:4318/#x", "it may have a host, a port and a path"},
  }));
  CAPTURE(test.base);
  const Result<CollectorUrl> url = ParseCollectorUrl(test.base);
  REQUIRE_FALSE(url);
  CHECK(url.error().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(url.error().message(), Catch::Contains(test.why));
}
