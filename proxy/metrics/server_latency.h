// ServerLatency: how long each server takes to answer, beside the others.
#ifndef ERS_PROXY_METRICS_SERVER_LATENCY_H_
#define ERS_PROXY_METRICS_SERVER_LATENCY_H_

#include <optional>
#include <vector>

#include "net/latency.h"

namespace ers::proxy {

// A plain value.
struct ServerLatency {
  net::Duration p50{};
  net::Duration p99{};
  // Its p50 in parts of the others' median; nothing where none is known.
  std::optional<double> beside_others;
};

// By server; nothing of one that answered too little lately.
std::vector<std::optional<ServerLatency>> LatencyOf(
    const std::vector<net::LatencyHistogram>& histograms);

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_SERVER_LATENCY_H_
