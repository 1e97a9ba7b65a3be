// What /metrics is made of: histograms, labels and the names of commands.
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>

#include "admin/facts.h"
#include "admin/metrics_writer.h"
#include "metrics/commands.h"
#include "metrics/histogram.h"
#include "metrics/metric_table.h"
#include "metrics/request_meter.h"
#include "metrics/server_latency.h"

using namespace ers;
using namespace ers::proxy;
using namespace std::chrono_literals;

namespace {

std::string Shown(const Histogram& histogram) {
  HistogramSum sum;
  histogram.AddTo(sum);
  MetricsWriter writer;
  writer.Begin("x_seconds", "histogram", "a", "X");
  writer.AddHistogram({"b"}, sum);
  return writer.Take();
}

bool Has(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a bound is in its bucket, and buckets add up") {
  Histogram histogram;
  histogram.Add(10us);
  histogram.Add(10us + 1ns);
  histogram.Add(20us);
  histogram.Add(10s);
  histogram.Add(10s + 1ns);
  const std::string text = Shown(histogram);
  CHECK(Has(text, R"(x_seconds_bucket{a="b",le="0.00001"} 1)"));
  CHECK(Has(text, R"(x_seconds_bucket{a="b",le="0.00002"} 3)"));
  CHECK(Has(text, R"(x_seconds_bucket{a="b",le="5"} 3)"));
  CHECK(Has(text, R"(x_seconds_bucket{a="b",le="10"} 4)"));
  CHECK(Has(text, R"(x_seconds_bucket{a="b",le="+Inf"} 5)"));
  CHECK(Has(text, R"(x_seconds_sum{a="b"} 20.000040002)"));
  CHECK(Has(text, R"(x_seconds_count{a="b"} 5)"));
}

TEST_CASE("a clock that goes back counts as no time") {
  Histogram histogram;
  histogram.Add(-1s);
  CHECK(Has(Shown(histogram), R"(x_seconds_sum{a="b"} 0)"));
}

TEST_CASE("what a label's value may not have is escaped") {
  MetricsWriter writer;
  writer.Begin("x", "gauge", "a, b", "X");
  writer.Add({"1\\2\"3\n4", ""}, 7);
  writer.Add({}, 8);
  CHECK(writer.Take() ==
        "# HELP x X\n# TYPE x gauge\nx{a=\"1\\\\2\\\"3\\n4\",b=\"\"} 7\nx 8\n");
}

TEST_CASE("every family is declared once and given once") {
  Facts facts;
  facts.servers.push_back({"a:1", "a:1", "in_sync"});
  facts.totals.links.resize(1);
  const std::string text = MetricsText(facts);
  std::set<std::string_view> names;
  const auto check = [&](std::string_view name) {
    CAPTURE(name);
    CHECK(names.insert(name).second);
    const std::string line = "# HELP " + std::string(name) + " ";
    const std::size_t at = text.find(line);
    REQUIRE(at != std::string::npos);
    CHECK(text.find(line, at + 1) == std::string::npos);
  };
  for (const MetricInfo& metric : kMetricTable) check(metric.name);
  for (const CounterInfo& counter : kCounterTable) {
    if (!counter.metric.empty()) check(counter.metric);
  }
  std::size_t given = 0;
  for (std::size_t at = text.find("# HELP "); at != std::string::npos;
       at = text.find("# HELP ", at + 1)) {
    ++given;
  }
  CHECK(given == names.size());
}

TEST_CASE("a server's latency stands beside that of the others") {
  using ers::net::LatencyHistogram;
  std::vector<LatencyHistogram> servers(4);
  const ers::net::TimePoint now{};
  for (int i = 0; i < 100; ++i) {
    servers[0].Record(200us, now);
    servers[1].Record(100us, now);
    servers[2].Record(i < 90 ? 100us : 20ms, now);
  }
  servers[3].Record(1s, now);  // too few
  const auto latency = LatencyOf(servers);
  REQUIRE((latency[0] && latency[1] && latency[2]));
  CHECK_FALSE(latency[3]);
  CHECK(*latency[0]->beside_others > 1.8);
  CHECK(*latency[0]->beside_others < 2.2);
  CHECK(latency[2]->p50 < 113us);
  CHECK(latency[2]->p99 >= 20ms);

  Facts facts;
  facts.servers = {{"a:1", "a:1", "in_sync"}, {"b:1", "b:1", "in_sync"}};
  facts.totals.links.resize(2);
  facts.totals.latency = {servers[1], servers[3]};
  const std::string text = MetricsText(facts);
  CHECK(Has(text,
            R"(ersproxy_server_latency_seconds{server="a:1",quantile="0.5"} )"
            "0.000104"));
  CHECK(text.find("server_latency_seconds{server=\"b:1\"") ==
        std::string::npos);
  CHECK(StatusText(facts).find("\"p50_us\": 104") != std::string::npos);
}

TEST_CASE("every operation but the end of a get line is some command") {
  for (int operation = 0; operation <= static_cast<int>(Operation::kList);
       ++operation) {
    for (const Dialect dialect :
         {Dialect::kText, Dialect::kMeta, Dialect::kBinary}) {
      ClientRequest request;
      request.operation = static_cast<Operation>(operation);
      request.style.dialect = dialect;
      CAPTURE(operation);
      CHECK((CommandOf(request) == Command::kEnd) ==
            (request.operation == Operation::kEndOfGets));
    }
  }
}
