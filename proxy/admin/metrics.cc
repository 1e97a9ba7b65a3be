// /metrics, from the facts.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/facts.h"
#include "admin/metrics_writer.h"
#include "metrics/metric_table.h"
#include "metrics/server_latency.h"

namespace ers::proxy {
namespace {

void Begin(Metric metric, MetricsWriter& writer) {
  const MetricInfo& info = kMetricTable[static_cast<std::size_t>(metric)];
  writer.Begin(info.name, info.type, info.labels, info.help);
}

void AddOne(Metric metric, std::uint64_t value, MetricsWriter& writer) {
  Begin(metric, writer);
  writer.Add({}, value);
}

void AddCounters(const Totals& totals, MetricsWriter& writer) {
  for (std::size_t i = 0; i < kCounters; ++i) {
    const CounterInfo& counter = kCounterTable[i];
    if (counter.metric.empty()) continue;
    writer.Begin(counter.metric, "counter", "", counter.help);
    writer.Add({}, totals.counters[i]);
  }
}

// What was never asked for is left out: there are many commands.
void AddRequests(const RequestSums& requests, MetricsWriter& writer) {
  Begin(Metric::kRequests, writer);
  for (std::size_t i = 0; i < kCommands; ++i) {
    for (std::size_t j = 0; j < kResults; ++j) {
      if (requests.results[i][j] == 0) continue;
      writer.Add({kCommandNames[i], kResultNames[j]}, requests.results[i][j]);
    }
  }
  Begin(Metric::kRequestDuration, writer);
  for (std::size_t i = 0; i < kCommands; ++i) {
    if (requests.durations[i].count() == 0) continue;
    writer.AddHistogram({kCommandNames[i]}, requests.durations[i]);
  }
}

void AddSteps(const Totals& totals, MetricsWriter& writer) {
  Begin(Metric::kStepDuration, writer);
  for (std::size_t i = 0; i < store::kSteps; ++i) {
    writer.AddHistogram({store::kStepTable[i].name}, totals.steps[i]);
  }
}

void AddStore(const Totals& totals, MetricsWriter& writer) {
  for (std::size_t i = 0; i < kStoreRows; ++i) {
    const StoreRow& row = kStoreTable[i];
    if (i == 0 || row.metric != kStoreTable[i - 1].metric) {
      Begin(row.metric, writer);
    }
    const auto empty =
        std::find(row.labels.begin(), row.labels.end(), std::string_view());
    writer.Add(std::span(row.labels.begin(), empty), totals.store[i]);
  }
}

void AddLatency(const Facts& facts, MetricsWriter& writer) {
  Begin(Metric::kServerLatency, writer);
  const std::vector<std::optional<ServerLatency>> latency =
      LatencyOf(facts.totals.latency);
  for (std::size_t i = 0; i < latency.size(); ++i) {
    if (!latency[i]) continue;
    writer.Add({facts.servers[i].name, "0.5"}, latency[i]->p50);
    writer.Add({facts.servers[i].name, "0.99"}, latency[i]->p99);
  }
}

void AddServerMemory(const Facts& facts, MetricsWriter& writer) {
  constexpr std::pair<Metric, std::uint64_t store::MemoryUse::*> kCounts[] = {
      {Metric::kServerMemoryUsed, &store::MemoryUse::used_bytes},
      {Metric::kServerMemoryLimit, &store::MemoryUse::limit_bytes},
      {Metric::kServerItems, &store::MemoryUse::items},
      {Metric::kServerEvictions, &store::MemoryUse::evictions}};
  for (const auto& [metric, count] : kCounts) {
    Begin(metric, writer);
    for (const Facts::Server& server : facts.servers) {
      if (!server.memory) continue;
      writer.Add({server.name}, (*server.memory).*count);
    }
  }
}

void AddProcess(const Facts& facts, MetricsWriter& writer) {
  Begin(Metric::kProcessCpu, writer);
  writer.Add({}, facts.process.processor_time);
  AddOne(Metric::kProcessResident, facts.process.resident_bytes, writer);
  AddOne(Metric::kProcessVirtual, facts.process.virtual_bytes, writer);
  AddOne(Metric::kProcessFds, facts.process.open_descriptors, writer);
  AddOne(Metric::kProcessMaxFds, facts.max_descriptors, writer);
  AddOne(Metric::kProcessStart, static_cast<std::uint64_t>(facts.started_s),
         writer);
}

void AddServers(const Facts& facts, MetricsWriter& writer) {
  const auto& links = facts.totals.links;
  std::vector<bool> reachable(links.size());
  for (std::size_t j = 0; j < kLinkRows; ++j) {
    Begin(kLinkTable[j].metric, writer);
    for (std::size_t i = 0; i < links.size(); ++i) {
      writer.Add({facts.servers[i].name}, links[i][j]);
      if (kLinkTable[j].metric == Metric::kServerConnections) {
        reachable[i] = links[i][j] > 0;
      }
    }
  }
  AddLatency(facts, writer);
  Begin(Metric::kServerReachable, writer);
  for (std::size_t i = 0; i < links.size(); ++i) {
    writer.Add({facts.servers[i].name}, reachable[i] ? 1 : 0);
  }
  Begin(Metric::kServerState, writer);
  for (const Facts::Server& server : facts.servers) {
    for (const std::string_view state : kServerStates) {
      writer.Add({server.name, state}, server.state == state ? 1 : 0);
    }
  }
  Begin(Metric::kServerSince, writer);
  for (const Facts::Server& server : facts.servers) {
    writer.Add({server.name}, server.since_s);
  }
  AddServerMemory(facts, writer);
}

void AddCensus(const Census& census, MetricsWriter& writer) {
  Begin(Metric::kObjects, writer);
  for (const auto& [form, sum] : census.sums) {
    writer.Add({form.first, form.second}, sum.objects);
  }
  Begin(Metric::kObjectBytes, writer);
  for (const auto& [form, sum] : census.sums) {
    writer.Add({form.first, form.second}, sum.bytes);
  }
  AddOne(Metric::kPackedObjects, census.packed, writer);
  AddOne(Metric::kPacks, census.packs, writer);
  AddOne(Metric::kObjectsCounted,
         static_cast<std::uint64_t>(census.counted_at_s), writer);
}

void AddJobs(const JobTotals& totals, MetricsWriter& writer) {
  Begin(Metric::kJobs, writer);
  for (std::size_t i = 0; i < totals.by_state.size(); ++i) {
    writer.Add({kJobStates[i]}, totals.by_state[i]);
  }
  Begin(Metric::kJobObjects, writer);
  writer.Add({kJobOutcomes[0]}, totals.changed);
  writer.Add({kJobOutcomes[1]}, totals.failed);
  AddOne(Metric::kJobReadBytes, totals.bytes_read, writer);
  AddOne(Metric::kJobWrittenBytes, totals.bytes_written, writer);
}

void AddPolicies(const PolicyCounts& counts, MetricsWriter& writer) {
  Begin(Metric::kPolicyObjects, writer);
  for (std::size_t i = 0; i < std::size(kPolicyKinds); ++i) {
    for (std::size_t j = 0; j < std::size(kPolicyOutcomes); ++j) {
      writer.Add({kPolicyKinds[i], kPolicyOutcomes[j]}, counts.objects[i][j]);
    }
  }
  Begin(Metric::kPolicyBytes, writer);
  for (std::size_t i = 0; i < std::size(kPolicyKinds); ++i) {
    writer.Add({kPolicyKinds[i]}, counts.moved_bytes[i]);
  }
  Begin(Metric::kPolicyWaiting, writer);
  for (std::size_t i = 0; i < std::size(kPolicyKinds); ++i) {
    writer.Add({kPolicyKinds[i]}, counts.waiting[i]);
  }
  AddOne(Metric::kPolicyScan, static_cast<std::uint64_t>(counts.last_scan),
         writer);
}

void AddGarbage(const GarbageTotals& totals, MetricsWriter& writer) {
  AddOne(Metric::kGarbageCollections, totals.collections, writer);
  AddOne(Metric::kGarbageDropped, totals.dropped, writer);
  AddOne(Metric::kGarbageDroppedBytes, totals.dropped_bytes, writer);
  AddOne(Metric::kGarbageSkipped, totals.last.skipped, writer);
  AddOne(Metric::kGarbageEnded, static_cast<std::uint64_t>(totals.ended),
         writer);
}

void AddBackfill(const BackfillState& backfill, MetricsWriter& writer) {
  AddOne(Metric::kBackfillServers, backfill.servers.size(), writer);
  AddOne(Metric::kBackfillWalkObjects, backfill.objects, writer);
  AddOne(Metric::kBackfillWalkTotal, backfill.total, writer);
  AddOne(Metric::kBackfillLimit, backfill.bytes_per_second, writer);
  Begin(Metric::kBackfillObjects, writer);
  writer.Add({kBackfillOutcomes[0]}, backfill.repaired);
  writer.Add({kBackfillOutcomes[1]}, backfill.lost);
  AddOne(Metric::kBackfillBlocks, backfill.blocks, writer);
  AddOne(Metric::kBackfillReadBytes, backfill.bytes_read, writer);
  AddOne(Metric::kBackfillWrittenBytes, backfill.bytes_written, writer);
}

void AddTraces(const TraceCounts& traces, MetricsWriter& writer) {
  AddOne(Metric::kTraceSpansSent, traces.sent, writer);
  Begin(Metric::kTraceSpansDropped, writer);
  for (std::size_t i = 0; i < traces.dropped.size(); ++i) {
    writer.Add({kTraceDrops[i]}, traces.dropped[i]);
  }
}

void AddTunnels(const Facts::TunnelSums& tunnels, MetricsWriter& writer) {
  AddOne(Metric::kTunnelsOpen, tunnels.open, writer);
  AddOne(Metric::kTunnels, tunnels.opened, writer);
  AddOne(Metric::kTunnelsRefused, tunnels.refused, writer);
  AddOne(Metric::kTunnelSentBytes, tunnels.sent_bytes, writer);
  AddOne(Metric::kTunnelReceivedBytes, tunnels.received_bytes, writer);
}

}  // namespace

std::string MetricsText(const Facts& facts) {
  MetricsWriter writer;
  AddRequests(facts.totals.requests, writer);
  AddSteps(facts.totals, writer);
  AddCounters(facts.totals, writer);
  AddOne(Metric::kConnectionsOpen,
         static_cast<std::uint64_t>(facts.connections), writer);
  AddOne(Metric::kConnectionsLimit,
         static_cast<std::uint64_t>(facts.max_connections), writer);
  AddTunnels(facts.tunnels, writer);
  AddOne(Metric::kMemory, facts.memory_bytes, writer);
  AddOne(Metric::kMemoryLimit, facts.memory_limit_bytes, writer);
  AddOne(Metric::kUptime, facts.uptime_s, writer);
  AddOne(Metric::kServing, facts.serving.serves() ? 1 : 0, writer);
  AddOne(Metric::kServersMayBeOut,
         static_cast<std::uint64_t>(facts.max_failures), writer);
  AddServers(facts, writer);
  AddStore(facts.totals, writer);
  AddCensus(facts.census, writer);
  AddJobs(facts.job_totals, writer);
  AddPolicies(facts.policy_counts, writer);
  AddGarbage(facts.garbage, writer);
  AddBackfill(facts.backfill, writer);
  AddTraces(facts.traces, writer);
  AddProcess(facts, writer);
  Begin(Metric::kBuildInfo, writer);
  writer.Add({facts.version}, 1);
  return writer.Take();
}

}  // namespace ers::proxy
