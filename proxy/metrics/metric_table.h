// The families of /metrics, but for the counters that a worker keeps itself:
// those are in counters.h. Each is declared once, here or there; what of it is
// in `stats`, too, says store_table.h.
#ifndef ERS_PROXY_METRICS_METRIC_TABLE_H_
#define ERS_PROXY_METRICS_METRIC_TABLE_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace ers::proxy {

// enumerator, name, type, names of the labels, help.
#define ERS_PROXY_METRICS(X)                                                   \
  X(kRequests, "ersproxy_requests_total", "counter", "command, result",        \
    "Requests of clients that were answered; each key of a get line is one")   \
  X(kRequestDuration, "ersproxy_request_duration_seconds", "histogram",        \
    "command",                                                                 \
    "From when a request was read, without its value, until its answer was "   \
    "ready to be sent")                                                        \
  X(kStepDuration, "ersproxy_step_duration_seconds", "histogram", "step",      \
    "Time of the steps of a sample of requests, and of those that ers trace "  \
    "asked for; steps run side by side")                                       \
  X(kConnectionsOpen, "ersproxy_connections_open", "gauge", "",                \
    "Connections of clients")                                                  \
  X(kConnectionsLimit, "ersproxy_connections_limit", "gauge", "",              \
    "Connections of clients that are allowed")                                 \
  X(kTunnelsOpen, "ersproxy_tunnels_open", "gauge", "",                        \
    "Connections to servers that clients of the admin port have through it")   \
  X(kTunnels, "ersproxy_tunnels_total", "counter", "",                         \
    "Connections to servers that were made for clients of the admin port")     \
  X(kTunnelsRefused, "ersproxy_tunnels_refused_total", "counter", "",          \
    "Connections to servers that clients of the admin port asked for and did " \
    "not get")                                                                 \
  X(kTunnelSentBytes, "ersproxy_tunnel_sent_bytes_total", "counter", "",       \
    "Bytes of clients of the admin port to servers")                           \
  X(kTunnelReceivedBytes, "ersproxy_tunnel_received_bytes_total", "counter",   \
    "", "Bytes of servers to clients of the admin port")                       \
  X(kMemory, "ersproxy_memory_in_flight_bytes", "gauge", "",                   \
    "Memory that requests under way hold, or may take, for values")            \
  X(kMemoryLimit, "ersproxy_memory_in_flight_limit_bytes", "gauge", "",        \
    "Memory that requests under way may hold")                                 \
  X(kUptime, "ersproxy_uptime_seconds", "gauge", "",                           \
    "Seconds since the start")                                                 \
  X(kServing, "ersproxy_serving", "gauge", "",                                 \
    "1 while requests can be served: enough servers answer, and a view of "    \
    "them is in force, or none was needed yet; else 0, and /readyz says why")  \
  X(kServersMayBeOut, "ersproxy_max_failures", "gauge", "",                    \
    "Servers that may be out at once, by the view in force; 0: none is")       \
  X(kServerSentBytes, "ersproxy_server_sent_bytes_total", "counter", "server", \
    "Bytes sent to each memcached server")                                     \
  X(kServerReceivedBytes, "ersproxy_server_received_bytes_total", "counter",   \
    "server", "Bytes received from each memcached server")                     \
  X(kServerRequests, "ersproxy_server_requests_total", "counter", "server",    \
    "Commands sent to each memcached server")                                  \
  X(kServerConnects, "ersproxy_server_connections_total", "counter", "server", \
    "Connections made to each memcached server")                               \
  X(kServerFailures, "ersproxy_server_failures_total", "counter", "server",    \
    "Connections to each memcached server that broke or could not be made")    \
  X(kServerConnections, "ersproxy_server_connections_open", "gauge", "server", \
    "Connections to each memcached server that are in use; each thread has "   \
    "one of its own")                                                          \
  X(kServerLatency, "ersproxy_server_latency_seconds", "gauge",                \
    "server, quantile",                                                        \
    "How long a server takes to answer, from what it answered lately; none "   \
    "where that is little")                                                    \
  X(kServerReachable, "ersproxy_server_reachable", "gauge", "server",          \
    "1 if any connection to the memcached server is in use")                   \
  X(kServerState, "ersproxy_server_state", "gauge", "server, state",           \
    "1 for the state in which the view has each memcached server, 0 for the "  \
    "others; unreachable where it does not answer with its memory and has "    \
    "not left the view, unknown until a command needs the servers")            \
  X(kServerSince, "ersproxy_server_state_since_seconds", "gauge", "server",    \
    "Unix time of the last change of each memcached server's state; 0 while "  \
    "it is unknown")                                                           \
  X(kServerMemoryUsed, "ersproxy_server_memory_used_bytes", "gauge", "server", \
    "Bytes of the items that each memcached server has, as it counts them; "   \
    "none of one that did not answer when it was asked last")                  \
  X(kServerMemoryLimit, "ersproxy_server_memory_limit_bytes", "gauge",         \
    "server", "Bytes of items that each memcached server may have")            \
  X(kServerItems, "ersproxy_server_items", "gauge", "server",                  \
    "Items that each memcached server has")                                    \
  X(kServerEvictions, "ersproxy_server_evictions_total", "counter", "server",  \
    "Items that each memcached server has evicted since it was started")       \
  X(kCommits, "ersproxy_commits_total", "counter", "",                         \
    "Changes of objects that were committed")                                  \
  X(kCommitAborts, "ersproxy_commit_aborts_total", "counter", "reason",        \
    "Tries of changes that were not: a rival was first, or the view changed "  \
    "or a server was silent (tried again), the object had changed (begun "     \
    "anew), it was not what the change asked for (refused), servers failed, "  \
    "or the outcome is unknown")                                               \
  X(kDegradedReads, "ersproxy_degraded_reads_total", "counter", "",            \
    "Reads of values that had to decode blocks")                               \
  X(kRepairedBlocks, "ersproxy_repaired_blocks_total", "counter", "",          \
    "Blocks that reads found missing and stored again")                        \
  X(kHedgesSent, "ersproxy_hedges_sent_total", "counter", "",                  \
    "Reads of groups of blocks, or of a manifest, that asked others, too, in " \
    "place of a server that was late")                                         \
  X(kHedgesWon, "ersproxy_hedges_won_total", "counter", "",                    \
    "Of those, reads for which that was there first")                          \
  X(kHedgesAtOnce, "ersproxy_hedges_at_once_total", "counter", "",             \
    "Reads of groups of blocks, or of a manifest, that did without a server "  \
    "from the start, as it was known to be late")                              \
  X(kHedgesRefused, "ersproxy_hedges_refused_total", "counter", "",            \
    "Reads of groups of blocks, or of a manifest, that waited for a late "     \
    "server, as hedge_percent of what is read was used up")                    \
  X(kHedgeWastedBytes, "ersproxy_hedge_wasted_bytes_total", "counter", "",     \
    "Bytes of blocks that came when others had replaced them, or of probes "   \
    "of slow servers")                                                         \
  X(kFollowedEvictions, "ersproxy_followed_evictions_total", "counter", "",    \
    "Copies of small values that were dropped as a server had evicted "        \
    "another")                                                                 \
  X(kPacksMade, "ersproxy_packs_made_total", "counter", "",                    \
    "Packs of small values that were made")                                    \
  X(kPacksDropped, "ersproxy_packs_dropped_total", "counter", "",              \
    "Packs that were dropped, as no manifest named them any more")             \
  X(kPackedValues, "ersproxy_packed_values_total", "counter", "",              \
    "Small values that were packed")                                           \
  X(kPackedBytes, "ersproxy_packed_bytes_total", "counter", "",                \
    "Bytes of small values that were packed")                                  \
  X(kTransitions, "ersproxy_transitions_total", "counter", "kind",             \
    "Changes of width or scheme that were committed")                          \
  X(kTransitionReadBlocks, "ersproxy_transition_read_blocks_total", "counter", \
    "kind, block", "Blocks that changes of width or scheme read")              \
  X(kTransitionWrittenBlocks, "ersproxy_transition_written_blocks_total",      \
    "counter", "kind", "Blocks that changes of width or scheme wrote")         \
  X(kTransitionReadBytes, "ersproxy_transition_read_bytes_total", "counter",   \
    "kind", "Bytes of the blocks that changes of width or scheme read")        \
  X(kTransitionWrittenBytes, "ersproxy_transition_written_bytes_total",        \
    "counter", "kind",                                                         \
    "Bytes of the blocks that changes of width or scheme wrote")               \
  X(kObjects, "ersproxy_objects", "gauge", "scheme, width",                    \
    "Objects, as last counted")                                                \
  X(kObjectBytes, "ersproxy_object_bytes", "gauge", "scheme, width",           \
    "Bytes of the objects' values, as last counted")                           \
  X(kPackedObjects, "ersproxy_packed_objects", "gauge", "",                    \
    "Objects that are small values in packs, as last counted")                 \
  X(kPacks, "ersproxy_packs", "gauge", "",                                     \
    "Packs that objects are in, as last counted")                              \
  X(kObjectsCounted, "ersproxy_objects_counted_timestamp_seconds", "gauge",    \
    "", "Unix time of the last count of objects; 0: never")                    \
  X(kJobs, "ersproxy_jobs", "gauge", "job_state",                              \
    "Jobs that are remembered, by state")                                      \
  X(kJobObjects, "ersproxy_job_objects_total", "counter", "outcome",           \
    "Objects that jobs changed, or tried to in vain")                          \
  X(kJobReadBytes, "ersproxy_job_read_bytes_total", "counter", "",             \
    "Bytes of blocks that jobs read for the objects they changed")             \
  X(kJobWrittenBytes, "ersproxy_job_written_bytes_total", "counter", "",       \
    "Bytes of blocks that jobs wrote for the objects they changed")            \
  X(kPolicyObjects, "ersproxy_policy_objects_total", "counter",                \
    "policy, policy_outcome", "Objects that policies were to change")          \
  X(kPolicyBytes, "ersproxy_policy_moved_bytes_total", "counter", "policy",    \
    "Bytes of blocks that policies read and wrote")                            \
  X(kPolicyWaiting, "ersproxy_policy_waiting_objects", "gauge", "policy",      \
    "Objects that wait to be changed by a policy")                             \
  X(kPolicyScan, "ersproxy_policy_scan_timestamp_seconds", "gauge", "",        \
    "Unix time of the last whole scan for cold objects; 0: never")             \
  X(kGarbageCollections, "ersproxy_garbage_collections_total", "counter", "",  \
    "Times that all blocks on the servers were checked for garbage")           \
  X(kGarbageDropped, "ersproxy_garbage_dropped_blocks_total", "counter", "",   \
    "Blocks that no object had, and were dropped")                             \
  X(kGarbageDroppedBytes, "ersproxy_garbage_dropped_bytes_total", "counter",   \
    "", "Memory of the servers that those took")                               \
  X(kGarbageSkipped, "ersproxy_garbage_skipped_blocks", "gauge", "",           \
    "Blocks that the last collection could not decide on, and left")           \
  X(kGarbageEnded, "ersproxy_garbage_collected_timestamp_seconds", "gauge",    \
    "", "Unix time of the end of the last collection of garbage; 0: never")    \
  X(kBackfillServers, "ersproxy_backfill_servers", "gauge", "",                \
    "Servers that are being backfilled")                                       \
  X(kBackfillWalkObjects, "ersproxy_backfill_walk_objects", "gauge", "",       \
    "Objects that the walk under way, which backfills them, has checked")      \
  X(kBackfillWalkTotal, "ersproxy_backfill_walk_total_objects", "gauge", "",   \
    "Objects that this walk has to check, as far as they are known")           \
  X(kBackfillLimit, "ersproxy_backfill_limit_bytes_per_second", "gauge", "",   \
    "Bytes a second that backfilling may move; 0: no limit")                   \
  X(kBackfillObjects, "ersproxy_backfill_objects_total", "counter",            \
    "backfill_outcome",                                                        \
    "Objects that backfilling did something for, or could not read any more")  \
  X(kBackfillBlocks, "ersproxy_backfill_blocks_total", "counter", "",          \
    "Blocks that backfilling stored")                                          \
  X(kBackfillReadBytes, "ersproxy_backfill_read_bytes_total", "counter", "",   \
    "Bytes of blocks that backfilling read")                                   \
  X(kBackfillWrittenBytes, "ersproxy_backfill_written_bytes_total", "counter", \
    "", "Bytes of blocks that backfilling wrote")                              \
  X(kTraceSpansSent, "ersproxy_trace_spans_sent_total", "counter", "",         \
    "Spans of traces that the collector has taken")                            \
  X(kTraceSpansDropped, "ersproxy_trace_spans_dropped_total", "counter",       \
    "drop_reason",                                                             \
    "Spans that it has not: the queue was full, it was unreachable, or it "    \
    "refused them")                                                            \
  X(kProcessCpu, "process_cpu_seconds_total", "counter", "",                   \
    "Processor time of the daemon, user and system")                           \
  X(kProcessResident, "process_resident_memory_bytes", "gauge", "",            \
    "Memory of the daemon that is in RAM")                                     \
  X(kProcessVirtual, "process_virtual_memory_bytes", "gauge", "",              \
    "Address space of the daemon")                                             \
  X(kProcessFds, "process_open_fds", "gauge", "",                              \
    "File descriptors of the daemon")                                          \
  X(kProcessMaxFds, "process_max_fds", "gauge", "",                            \
    "File descriptors that the daemon may have")                               \
  X(kProcessStart, "process_start_time_seconds", "gauge", "",                  \
    "Unix time of the daemon's start")                                         \
  X(kBuildInfo, "ersproxy_build_info", "gauge", "version",                     \
    "1, with the version")

enum class Metric : std::uint8_t {
#define ERS_PROXY_ENUMERATOR(name, metric, type, labels, help) name,
  ERS_PROXY_METRICS(ERS_PROXY_ENUMERATOR)
#undef ERS_PROXY_ENUMERATOR
};

struct MetricInfo {
  std::string_view name;
  std::string_view type;
  std::string_view labels;
  std::string_view help;
};

inline constexpr std::array kMetricTable = {
#define ERS_PROXY_ROW(name, metric, type, labels, help) \
  MetricInfo{metric, type, labels, help},
    ERS_PROXY_METRICS(ERS_PROXY_ROW)
#undef ERS_PROXY_ROW
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_METRIC_TABLE_H_
