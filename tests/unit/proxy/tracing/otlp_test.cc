// Traces as OTLP's JSON has them.
#include "tracing/otlp.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

using namespace ers;
using namespace ers::proxy;
using namespace std::chrono_literals;

namespace {

using Json = nlohmann::json;
using store::RequestStep;

constexpr net::TimePoint kBegin{net::Duration(1'000'000)};
const TraceSource kSource{"1.2.3", "host", 77};

// Ends 10 ms behind kBegin, at the second 1,700,000,000.
RequestTrace Trace() {
  RequestTrace trace;
  trace.command = Command::kGet;
  trace.result = RequestResult::kHit;
  trace.begin = kBegin;
  trace.end = kBegin + 10ms;
  trace.end_time = std::chrono::system_clock::time_point(1'700'000'000s);
  return trace;
}

Json Encode(const std::vector<RequestTrace>& traces) {
  std::uint64_t last = 0;
  const std::string text =
      EncodeTraces(kSource, traces, [&last] { return ++last; });
  return Json::parse(text);
}

Json SpansOf(const std::vector<RequestTrace>& traces) {
  return Encode(traces)["resourceSpans"][0]["scopeSpans"][0]["spans"];
}

// Key -> value, with its kind.
Json AttributesOf(const Json& of) {
  Json found = Json::object();
  for (const Json& one : of["attributes"]) {
    found[one["key"].get<std::string>()] = one["value"];
  }
  return found;
}

}  // namespace

TEST_CASE("a trace is a span of the request and one for each step") {
  RequestTrace trace = Trace();
  trace.steps.Add({RequestStep::kParse, kBegin, kBegin + 1ns});
  trace.steps.Add({RequestStep::kRead, kBegin + 2ms, kBegin + 9ms});
  const Json spans = SpansOf({trace});
  REQUIRE(spans.size() == 3);
  CHECK(spans[0] == Json::parse(R"({"name": "get", "kind": 2,
          "traceId": "00000000000000010000000000000002",
          "spanId": "0000000000000003",
          "startTimeUnixNano": "1699999999990000000",
          "endTimeUnixNano": "1700000000000000000",
          "attributes": [{"key": "ersproxy.result",
                          "value": {"stringValue": "hit"}}]})"));
  CHECK(spans[1]["name"] == "parse");
  CHECK(spans[1]["endTimeUnixNano"] == "1699999999990000001");
  CHECK(spans[2] == Json::parse(R"({"name": "read", "kind": 1,
          "traceId": "00000000000000010000000000000002",
          "spanId": "0000000000000005", "parentSpanId": "0000000000000003",
          "startTimeUnixNano": "1699999999992000000",
          "endTimeUnixNano": "1699999999999000000"})"));
}

TEST_CASE("a trace says what the request found") {
  RequestTrace trace = Trace();
  trace.object = TracedObject{*ParseScheme("ers2:4,1,5"), Width::kWide,
                              /*is_inline=*/false, std::uint64_t{1} << 60};
  trace.value_bytes = 5;
  trace.steps.left_out = 7;
  CHECK(AttributesOf(SpansOf({trace})[0]) == Json::parse(R"({
    "ersproxy.result": {"stringValue": "hit"},
    "ersproxy.scheme": {"stringValue": "ers2:4,1,5"},
    "ersproxy.width": {"stringValue": "wide"},
    "ersproxy.inline": {"boolValue": false},
    "ersproxy.object_bytes": {"intValue": "1152921504606846976"},
    "ersproxy.value_bytes": {"intValue": "5"},
    "ersproxy.steps_left_out": {"intValue": "7"}})"));
}

TEST_CASE("only what is the servers' fault is an error") {
  for (std::size_t i = 0; i < kResults; ++i) {
    RequestTrace trace = Trace();
    trace.result = static_cast<RequestResult>(i);
    CAPTURE(kResultNames[i]);
    const Json span = SpansOf({trace})[0];
    const bool error = trace.result == RequestResult::kServerError ||
                       trace.result == RequestResult::kOutOfMemory;
    CHECK(span.contains("status") == error);
    CHECK(AttributesOf(span).contains("error.type") == error);
    if (error) CHECK(span["status"]["code"] == 2);
  }
}

TEST_CASE("traces of a batch have ids of their own") {
  const Json spans = SpansOf({Trace(), Trace(), Trace()});
  std::set<std::string> traces;
  std::set<std::string> ids;
  for (const Json& span : spans) {
    traces.insert(span["traceId"].get<std::string>());
    ids.insert(span["spanId"].get<std::string>());
  }
  CHECK(traces.size() == 3);
  CHECK(ids.size() == 3);
}

TEST_CASE("a batch names the process, whatever its host is called") {
  const Json resource = Encode({Trace()})["resourceSpans"][0]["resource"];
  CHECK(AttributesOf(resource) == Json::parse(R"({
    "service.name": {"stringValue": "ersproxy"},
    "service.version": {"stringValue": "1.2.3"},
    "service.instance.id": {"stringValue": "host:77"},
    "host.name": {"stringValue": "host"},
    "process.pid": {"intValue": "77"}})"));
  const TraceSource odd{"1", "a\xff\"b", 1};
  const std::string text = EncodeTraces(odd, {}, [] { return 1; });
  CHECK(Json::accept(text));
}

TEST_CASE("an answer says how many spans were rejected") {
  CHECK(RejectedSpans("{}") == 0);
  CHECK(RejectedSpans(R"({"partialSuccess": {}})") == 0);
  CHECK(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": "5"}})") == 5);
  CHECK(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": 6}})") == 6);
  for (const char* odd : {"", "no JSON", "[]", "5", R"({"partialSuccess": 5})",
                          R"({"partialSuccess": {"rejectedSpans": -1}})",
                          R"({"partialSuccess": {"rejectedSpans": "x"}})",
                          R"({"partialSuccess": {"rejectedSpans": "5x"}})"}) {
    CAPTURE(odd);
    CHECK(RejectedSpans(odd) == 0);
  }
}
