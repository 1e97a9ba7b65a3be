// What of the library's counters is in /metrics and `stats`.
#ifndef ERS_PROXY_METRICS_STORE_TABLE_H_
#define ERS_PROXY_METRICS_STORE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/count.h"
#include "metrics/metric_table.h"
#include "store/support/session_counters.h"

namespace ers::proxy {

// A sample of /metrics and its share of a line of `stats`.
struct StoreRow {
  Metric metric;
  // Of the metric's labels, in their order; those that it has not are empty.
  std::array<std::string_view, 2> labels;
  std::string_view stat;  // rows of one name stand together, and add up
  const Count& (*count)(const store::StoreCounters& counters);
};

// The rows of one metric stand together.
#define ERS_PROXY_STORE_COUNT(member) \
  [](const store::StoreCounters& c) -> const Count& { return c.member; }
inline constexpr StoreRow kStoreTable[] = {
    {Metric::kCommits, {}, "ers_commits", ERS_PROXY_STORE_COUNT(commits)},
    {Metric::kCommitAborts,
     {"rival"},
     "ers_commit_aborts",
     ERS_PROXY_STORE_COUNT(aborts_by_rival)},
    {Metric::kCommitAborts,
     {"view"},
     "ers_commit_aborts",
     ERS_PROXY_STORE_COUNT(aborts_by_view)},
    {Metric::kCommitAborts,
     {"changed"},
     "ers_commit_aborts",
     ERS_PROXY_STORE_COUNT(aborts_by_restart)},
    {Metric::kCommitAborts,
     {"refused"},
     "ers_commit_aborts",
     ERS_PROXY_STORE_COUNT(aborts_by_check)},
    {Metric::kCommitAborts,
     {"failed"},
     "ers_commit_aborts",
     ERS_PROXY_STORE_COUNT(aborts_by_failure)},
    {Metric::kCommitAborts,
     {"unknown"},
     "ers_commit_aborts",
     ERS_PROXY_STORE_COUNT(commits_unknown)},
    {Metric::kDegradedReads,
     {},
     "ers_degraded_reads",
     ERS_PROXY_STORE_COUNT(degraded_reads)},
    {Metric::kRepairedBlocks,
     {},
     "ers_repaired_blocks",
     ERS_PROXY_STORE_COUNT(repaired_blocks)},
    {Metric::kHedgesSent,
     {},
     "ers_hedges_sent",
     ERS_PROXY_STORE_COUNT(hedges_sent)},
    {Metric::kHedgesWon,
     {},
     "ers_hedges_won",
     ERS_PROXY_STORE_COUNT(hedges_won)},
    {Metric::kHedgesAtOnce,
     {},
     "ers_hedges_at_once",
     ERS_PROXY_STORE_COUNT(hedges_at_once)},
    {Metric::kHedgesRefused,
     {},
     "ers_hedges_refused",
     ERS_PROXY_STORE_COUNT(hedges_refused)},
    {Metric::kHedgeWastedBytes,
     {},
     "ers_hedge_wasted_bytes",
     ERS_PROXY_STORE_COUNT(hedge_wasted_bytes)},
    {Metric::kFollowedEvictions,
     {},
     "ers_followed_evictions",
     ERS_PROXY_STORE_COUNT(followed_evictions)},
    {Metric::kPacksMade,
     {},
     "ers_packs_made",
     ERS_PROXY_STORE_COUNT(packs_made)},
    {Metric::kPacksDropped,
     {},
     "ers_packs_dropped",
     ERS_PROXY_STORE_COUNT(packs_dropped)},
    {Metric::kPackedValues,
     {},
     "ers_packed_values",
     ERS_PROXY_STORE_COUNT(packed_values)},
    {Metric::kPackedBytes,
     {},
     "ers_packed_bytes",
     ERS_PROXY_STORE_COUNT(packed_bytes)},
#define ERS_PROXY_BY_KIND(metric, block, stat, member) \
  {metric,                                             \
   {"widen", block},                                   \
   stat,                                               \
   ERS_PROXY_STORE_COUNT(transitions[0].member)},      \
      {metric,                                         \
       {"narrow", block},                              \
       stat,                                           \
       ERS_PROXY_STORE_COUNT(transitions[1].member)},  \
      {metric,                                         \
       {"reencode", block},                            \
       stat,                                           \
       ERS_PROXY_STORE_COUNT(transitions[2].member)},  \
  {                                                    \
    metric, {"parity", block}, stat,                   \
        ERS_PROXY_STORE_COUNT(transitions[3].member)   \
  }
    ERS_PROXY_BY_KIND(Metric::kTransitions, "", "ers_transitions", committed),
    ERS_PROXY_BY_KIND(Metric::kTransitionReadBlocks, "data",
                      "ers_transition_blocks_read", data_reads),
    ERS_PROXY_BY_KIND(Metric::kTransitionReadBlocks, "parity",
                      "ers_transition_blocks_read", parity_reads),
    ERS_PROXY_BY_KIND(Metric::kTransitionWrittenBlocks, "",
                      "ers_transition_blocks_written", writes),
    ERS_PROXY_BY_KIND(Metric::kTransitionReadBytes, "",
                      "ers_transition_bytes_read", bytes_read),
    ERS_PROXY_BY_KIND(Metric::kTransitionWrittenBytes, "",
                      "ers_transition_bytes_written", bytes_written),
#undef ERS_PROXY_BY_KIND
};
#undef ERS_PROXY_STORE_COUNT
inline constexpr std::size_t kStoreRows = std::size(kStoreTable);

// Of each memcached server.
struct LinkRow {
  Metric metric;
  Count net::LinkCounters::* count;
};
inline constexpr LinkRow kLinkTable[] = {
    {Metric::kServerSentBytes, &net::LinkCounters::bytes_sent},
    {Metric::kServerReceivedBytes, &net::LinkCounters::bytes_received},
    {Metric::kServerRequests, &net::LinkCounters::requests},
    {Metric::kServerConnects, &net::LinkCounters::connections},
    {Metric::kServerFailures, &net::LinkCounters::failures},
    {Metric::kServerConnections, &net::LinkCounters::standing},
};
inline constexpr std::size_t kLinkRows = std::size(kLinkTable);

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_STORE_TABLE_H_
