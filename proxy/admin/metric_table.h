// The families of /metrics that have labels or are no counters of a worker;
// those are in server/counters.h. Each is declared once, here or there.
#ifndef ERS_PROXY_ADMIN_METRIC_TABLE_H_
#define ERS_PROXY_ADMIN_METRIC_TABLE_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace ers::proxy {

// enumerator, name, type, names of the labels, help.
#define ERS_PROXY_METRICS(X)                                                  \
  X(kRequests, "ersproxy_requests_total", "counter", "command, result",       \
    "Requests of clients that were answered; each key of a get line is one")  \
  X(kRequestDuration, "ersproxy_request_duration_seconds", "histogram",       \
    "command",                                                                \
    "From when a request was read, without its value, until its answer was "  \
    "ready to be sent")                                                       \
  X(kConnectionsOpen, "ersproxy_connections_open", "gauge", "",               \
    "Connections of clients")                                                 \
  X(kConnectionsLimit, "ersproxy_connections_limit", "gauge", "",             \
    "Connections of clients that are allowed")                                \
  X(kUptime, "ersproxy_uptime_seconds", "gauge", "",                          \
    "Seconds since the start")                                                \
  X(kServerState, "ersproxy_server_state", "gauge", "server, state",          \
    "1 for the state in which the view has each memcached server, 0 for the " \
    "others; unknown until a command needs the servers")                      \
  X(kBuildInfo, "ersproxy_build_info", "gauge", "version",                    \
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

#endif  // ERS_PROXY_ADMIN_METRIC_TABLE_H_
