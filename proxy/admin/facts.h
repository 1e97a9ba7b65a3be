// Facts: what a daemon reports of itself, and its forms.
#ifndef ERS_PROXY_ADMIN_FACTS_H_
#define ERS_PROXY_ADMIN_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/policies.h"
#include "engine/census.h"
#include "jobs/jobs.h"
#include "metrics/process_usage.h"
#include "metrics/recent_requests.h"
#include "metrics/totals.h"
#include "store/upkeep/memory_use.h"
#include "tracing/trace_exporter.h"

namespace ers::proxy {

// What a server is, in this process's view; unreachable where that has it in
// sync or backfilling, or nothing is known of it yet, and it does not answer,
// or not with the memory that it had; else unknown until the first command
// needs the servers.
inline constexpr std::string_view kServerStates[] = {
    "in_sync", "backfilling", "down", "unreachable", "unknown"};

// What became of an object that a job tried to change.
inline constexpr std::string_view kJobOutcomes[] = {"changed", "failed"};

// What became of an object that servers were backfilled with.
inline constexpr std::string_view kBackfillOutcomes[] = {"repaired", "lost"};

// A plain value.
struct Facts {
  struct Server {
    std::string name;
    std::string slot;          // its place on the ring
    std::string state;         // of kServerStates
    std::int64_t since_s = 0;  // that state, in Unix seconds; 0 unknown
    // Nothing: it did not answer.
    std::optional<store::MemoryUse> memory = {};
  };

  // As TunnelCounts.
  struct TunnelSums {
    std::uint64_t open = 0;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
  };

  std::string version;
  std::int64_t time_s = 0;  // Unix time, by this machine's clock
  std::int64_t started_s = 0;
  std::uint64_t uptime_s = 0;
  ProcessUsage process;
  std::uint64_t max_descriptors = 0;
  bool stopping = false;  // takes no more clients
  ServingState serving;
  int connections = 0;
  int max_connections = 0;
  TunnelSums tunnels;
  int threads = 0;
  std::uint64_t memory_bytes = 0;  // in flight
  std::uint64_t memory_limit_bytes = 0;
  std::vector<std::string> listeners;
  // As other processes of the cluster are given them.
  std::string server_list;
  std::string distribution;  // empty, as the next two: the cluster's
  std::string hash;
  std::string hash_tag;
  int max_failures = 0;
  std::uint64_t epoch = 0;                 // of the view; 0: none is in force
  std::uint64_t last_event = 0;            // 0: there is none
  std::vector<std::string> transitioning;  // keys
  std::vector<Server> servers;
  Census census;
  Totals totals;  // with links for as many servers
  RequestRates lately;
  std::vector<RequestRates> history;  // a second each
  std::vector<Job> jobs;              // newest first
  JobTotals job_totals;
  Policies policies;
  PolicyCounts policy_counts;
  GarbageTotals garbage;
  BackfillState backfill;
  TraceCounts traces;
};

// The keys of objects that are being transitioned, as JSON.
std::string TransitioningText(const Facts& facts);
// One JSON object; counters by their names in `stats`.
std::string StatusText(const Facts& facts);
// Prometheus' text format, version 0.0.4; counters by their names in /metrics.
std::string MetricsText(const Facts& facts);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_FACTS_H_
