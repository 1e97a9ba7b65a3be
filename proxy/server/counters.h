// Counters: what a worker has done, each declared once, in the table below:
// `stats` and /metrics are made from it.
#ifndef ERS_PROXY_SERVER_COUNTERS_H_
#define ERS_PROXY_SERVER_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ers::proxy {

// enumerator, name in `stats`, name in /metrics ("" in either: not there),
// labels in /metrics, help.
#define ERS_PROXY_COUNTERS(X)                                                  \
  X(kCmdGet, "cmd_get", "", "", "")                                            \
  X(kGetHits, "get_hits", "ersproxy_commands_total",                           \
    R"(command="get",status="hit")", "Commands of clients, by outcome")        \
  X(kGetMisses, "get_misses", "ersproxy_commands_total",                       \
    R"(command="get",status="miss")", "")                                      \
  X(kCmdSet, "cmd_set", "ersproxy_commands_total",                             \
    R"(command="set",status="any")", "")                                       \
  X(kDeleteHits, "delete_hits", "ersproxy_commands_total",                     \
    R"(command="delete",status="hit")", "")                                    \
  X(kDeleteMisses, "delete_misses", "ersproxy_commands_total",                 \
    R"(command="delete",status="miss")", "")                                   \
  X(kIncrHits, "incr_hits", "ersproxy_commands_total",                         \
    R"(command="incr",status="hit")", "")                                      \
  X(kIncrMisses, "incr_misses", "ersproxy_commands_total",                     \
    R"(command="incr",status="miss")", "")                                     \
  X(kDecrHits, "decr_hits", "ersproxy_commands_total",                         \
    R"(command="decr",status="hit")", "")                                      \
  X(kDecrMisses, "decr_misses", "ersproxy_commands_total",                     \
    R"(command="decr",status="miss")", "")                                     \
  X(kCasHits, "cas_hits", "ersproxy_commands_total",                           \
    R"(command="cas",status="hit")", "")                                       \
  X(kCasMisses, "cas_misses", "ersproxy_commands_total",                       \
    R"(command="cas",status="miss")", "")                                      \
  X(kCasBadval, "cas_badval", "ersproxy_commands_total",                       \
    R"(command="cas",status="badval")", "")                                    \
  X(kCmdTouch, "cmd_touch", "", "", "")                                        \
  X(kTouchHits, "touch_hits", "ersproxy_commands_total",                       \
    R"(command="touch",status="hit")", "")                                     \
  X(kTouchMisses, "touch_misses", "ersproxy_commands_total",                   \
    R"(command="touch",status="miss")", "")                                    \
  X(kCmdFlush, "cmd_flush", "ersproxy_commands_total",                         \
    R"(command="flush",status="any")", "")                                     \
  X(kTransitions, "ers_transitions", "ersproxy_commands_total",                \
    R"(command="transition",status="hit")", "")                                \
  X(kServerErrors, "ers_server_errors", "ersproxy_server_errors_total", "",    \
    "Commands that failed for the sake of the servers")                        \
  X(kDegradedReads, "ers_degraded_reads", "ersproxy_degraded_reads_total", "", \
    "Reads that had to decode blocks")                                         \
  X(kRepairedBlocks, "ers_repaired_blocks", "ersproxy_repaired_blocks_total",  \
    "", "Blocks that reads found missing and stored again")                    \
  X(kBytesRead, "bytes_read", "ersproxy_client_read_bytes_total", "",          \
    "Bytes read from clients")                                                 \
  X(kBytesWritten, "bytes_written", "ersproxy_client_written_bytes_total", "", \
    "Bytes written to clients")                                                \
  X(kTotalConnections, "total_connections", "ersproxy_connections_total", "",  \
    "Connections accepted")                                                    \
  X(kRejectedConnections, "rejected_connections",                              \
    "ersproxy_connections_rejected_total", "",                                 \
    "Connections refused for the limit")                                       \
  X(kClosedConnections, "ers_closed_connections",                              \
    "ersproxy_connections_closed_total", "", "Connections that ended")

enum class Counter : std::uint8_t {
#define ERS_PROXY_ENUMERATOR(name, stat, metric, labels, help) name,
  ERS_PROXY_COUNTERS(ERS_PROXY_ENUMERATOR)
#undef ERS_PROXY_ENUMERATOR
      kEnd,
};

inline constexpr std::size_t kCounters =
    static_cast<std::size_t>(Counter::kEnd);

struct CounterInfo {
  std::string_view stat;
  std::string_view metric;
  std::string_view labels;
  std::string_view help;
};

inline constexpr std::array<CounterInfo, kCounters> kCounterTable = {{
#define ERS_PROXY_ROW(name, stat, metric, labels, help) \
  {stat, metric, labels, help},
    ERS_PROXY_COUNTERS(ERS_PROXY_ROW)
#undef ERS_PROXY_ROW
}};

// One writer, its worker; any thread may read.
class Counters {
 public:
  void Add(Counter counter, std::uint64_t count = 1) {
    std::atomic<std::uint64_t>& slot = values_[Index(counter)];
    // One writer: no locked instruction.
    slot.store(slot.load(std::memory_order_relaxed) + count,
               std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t Get(Counter counter) const {
    return values_[Index(counter)].load(std::memory_order_relaxed);
  }

 private:
  static std::size_t Index(Counter counter) {
    return static_cast<std::size_t>(counter);
  }
  std::array<std::atomic<std::uint64_t>, kCounters> values_{};
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_COUNTERS_H_
