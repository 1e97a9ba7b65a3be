// Totals: what all workers together have counted.
#ifndef ERS_PROXY_METRICS_TOTALS_H_
#define ERS_PROXY_METRICS_TOTALS_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/counters.h"
#include "metrics/request_meter.h"
#include "metrics/store_table.h"
#include "net/latency.h"
#include "store/support/step_timer.h"

namespace ers::proxy {

// A plain value.
struct Totals {
  std::array<std::uint64_t, kCounters> counters{};
  std::array<std::uint64_t, kStoreRows> store{};
  // By server.
  std::vector<std::array<std::uint64_t, kLinkRows>> links;
  std::vector<net::LatencyHistogram> latency;
  RequestSums requests;
  std::array<HistogramSum, store::kSteps> steps;

  void Add(const Counters& more);
  void Add(const store::SessionCounters& more);
};

// Those that `stats` lists, each name once, always in the same order.
std::vector<std::pair<std::string_view, std::uint64_t>> StatValues(
    const Totals& totals);

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_TOTALS_H_
