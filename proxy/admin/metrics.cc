// /metrics, from the facts.
#include <algorithm>
#include <string_view>

#include "admin/facts.h"
#include "admin/metric_table.h"
#include "admin/metrics_writer.h"

namespace ers::proxy {
namespace {

void Begin(Metric metric, MetricsWriter& writer) {
  const MetricInfo& info = kMetricTable[static_cast<std::size_t>(metric)];
  writer.Begin(info.name, info.type, info.help);
}

void AddOne(Metric metric, std::uint64_t value, MetricsWriter& writer) {
  Begin(metric, writer);
  writer.Add({}, value);
}

void AddCounters(const Facts& facts, MetricsWriter& writer) {
  for (std::size_t i = 0; i < kCounters; ++i) {
    const CounterInfo& counter = kCounterTable[i];
    if (counter.metric.empty()) continue;
    writer.Begin(counter.metric, "counter", counter.help);
    writer.Add({}, facts.counters[i]);
  }
}

// What was never asked for is left out: there are many commands.
void AddRequests(const RequestSums& requests, MetricsWriter& writer) {
  Begin(Metric::kRequests, writer);
  for (std::size_t i = 0; i < kCommands; ++i) {
    for (std::size_t j = 0; j < kResults; ++j) {
      if (requests.results[i][j] == 0) continue;
      writer.Add({{"command", kCommandNames[i]}, {"result", kResultNames[j]}},
                 requests.results[i][j]);
    }
  }
  Begin(Metric::kRequestDuration, writer);
  for (std::size_t i = 0; i < kCommands; ++i) {
    if (requests.durations[i].count() == 0) continue;
    writer.AddHistogram({{"command", kCommandNames[i]}}, requests.durations[i]);
  }
}

void AddServers(const Facts& facts, MetricsWriter& writer) {
  Begin(Metric::kServerState, writer);
  for (const Facts::Server& server : facts.servers) {
    for (const std::string_view state : kServerStates) {
      writer.Add({{"server", server.name}, {"state", state}},
                 server.state == state ? 1 : 0);
    }
  }
}

}  // namespace

std::string MetricsText(const Facts& facts) {
  MetricsWriter writer;
  AddRequests(facts.requests, writer);
  AddCounters(facts, writer);
  AddOne(Metric::kConnectionsOpen,
         static_cast<std::uint64_t>(facts.connections), writer);
  AddOne(Metric::kConnectionsLimit,
         static_cast<std::uint64_t>(facts.max_connections), writer);
  AddOne(Metric::kUptime, facts.uptime_s, writer);
  AddServers(facts, writer);
  Begin(Metric::kBuildInfo, writer);
  writer.Add({{"version", facts.version}}, 1);
  return writer.Take();
}

}  // namespace ers::proxy
