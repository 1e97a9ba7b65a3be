// Counters: what a worker has done, each declared once, in the table below:
// `stats` and /metrics are made from it.
#ifndef ERS_PROXY_METRICS_COUNTERS_H_
#define ERS_PROXY_METRICS_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/count.h"

namespace ers::proxy {

// enumerator, name in `stats`, name in /metrics ("" in either: not there), help
// in /metrics.
#define ERS_PROXY_COUNTERS(X)                                              \
  X(kCmdGet, "cmd_get", "", "")                                            \
  X(kGetHits, "get_hits", "", "")                                          \
  X(kGetMisses, "get_misses", "", "")                                      \
  X(kCmdSet, "cmd_set", "", "")                                            \
  X(kDeleteHits, "delete_hits", "", "")                                    \
  X(kDeleteMisses, "delete_misses", "", "")                                \
  X(kIncrHits, "incr_hits", "", "")                                        \
  X(kIncrMisses, "incr_misses", "", "")                                    \
  X(kDecrHits, "decr_hits", "", "")                                        \
  X(kDecrMisses, "decr_misses", "", "")                                    \
  X(kCasHits, "cas_hits", "", "")                                          \
  X(kCasMisses, "cas_misses", "", "")                                      \
  X(kCasBadval, "cas_badval", "", "")                                      \
  X(kCmdTouch, "cmd_touch", "", "")                                        \
  X(kTouchHits, "touch_hits", "", "")                                      \
  X(kTouchMisses, "touch_misses", "", "")                                  \
  X(kCmdFlush, "cmd_flush", "", "")                                        \
  X(kServerErrors, "ers_server_errors", "ersproxy_server_errors_total",    \
    "Commands that failed because of the servers")                         \
  X(kTotalItems, "total_items", "", "")                                    \
  X(kStoreTooLarge, "store_too_large", "", "")                             \
  X(kStoreNoMemory, "store_no_memory", "", "")                             \
  X(kBytesRead, "bytes_read", "ersproxy_client_read_bytes_total",          \
    "Bytes read from clients")                                             \
  X(kBytesWritten, "bytes_written", "ersproxy_client_written_bytes_total", \
    "Bytes written to clients")                                            \
  X(kTotalConnections, "total_connections", "ersproxy_connections_total",  \
    "Connections accepted")                                                \
  X(kRejectedConnections, "rejected_connections",                          \
    "ersproxy_connections_rejected_total",                                 \
    "Connections refused for the limit")                                   \
  X(kMemoryWaits, "ers_memory_waits", "ersproxy_memory_waits_total",       \
    "Times that a request waited for memory in flight")                    \
  X(kSlowClients, "ers_slow_clients_closed",                               \
    "ersproxy_slow_clients_closed_total",                                  \
    "Connections closed for holding memory that others waited for")        \
  X(kIdleClients, "idle_kicks", "ersproxy_idle_clients_closed_total",      \
    "Connections closed for being idle")                                   \
  X(kClosedConnections, "ers_closed_connections",                          \
    "ersproxy_connections_closed_total", "Connections that ended")         \
  X(kWarmHits, "ers_warm_hits", "ersproxy_warm_hits_total",                \
    "Misses that the old pool had a value for, which was stored")          \
  X(kWarmMisses, "ers_warm_misses", "ersproxy_warm_misses_total",          \
    "Misses that were misses of the old pool, too")                        \
  X(kWarmFailures, "ers_warm_failures", "ersproxy_warm_failures_total",    \
    "Misses that the old pool gave no good answer to")                     \
  X(kWarmForwardFailures, "ers_warm_forward_failures",                     \
    "ersproxy_warm_forward_failures_total",                                \
    "Changes after which the old pool may have its old value still")

enum class Counter : std::uint8_t {
#define ERS_PROXY_ENUMERATOR(name, stat, metric, help) name,
  ERS_PROXY_COUNTERS(ERS_PROXY_ENUMERATOR)
#undef ERS_PROXY_ENUMERATOR
      kEnd,
};

inline constexpr std::size_t kCounters =
    static_cast<std::size_t>(Counter::kEnd);

struct CounterInfo {
  std::string_view stat;
  std::string_view metric;
  std::string_view help;
};

inline constexpr std::array<CounterInfo, kCounters> kCounterTable = {{
#define ERS_PROXY_ROW(name, stat, metric, help) {stat, metric, help},
    ERS_PROXY_COUNTERS(ERS_PROXY_ROW)
#undef ERS_PROXY_ROW
}};

// One writer, its worker; any thread may read.
class Counters {
 public:
  void Add(Counter counter, std::uint64_t count = 1) {
    values_[Index(counter)].Add(count);
  }
  [[nodiscard]] std::uint64_t Get(Counter counter) const {
    return values_[Index(counter)].Get();
  }

 private:
  static std::size_t Index(Counter counter) {
    return static_cast<std::size_t>(counter);
  }
  std::array<Count, kCounters> values_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_COUNTERS_H_
