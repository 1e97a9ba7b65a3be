#include "metrics/server_latency.h"

#include <algorithm>
#include <cstddef>

namespace ers::proxy {
namespace {

double MedianOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<std::optional<ServerLatency>> LatencyOf(
    const std::vector<net::LatencyHistogram>& histograms) {
  std::vector<std::optional<ServerLatency>> all(histograms.size());
  for (std::size_t i = 0; i < histograms.size(); ++i) {
    const std::optional<net::Duration> p50 = histograms[i].Quantile(0.5);
    const std::optional<net::Duration> p99 = histograms[i].Quantile(0.99);
    if (p50 && p99) all[i] = {*p50, *p99, {}};
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    std::vector<double> others;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (j == i || !all[j]) continue;
      others.push_back(static_cast<double>(all[j]->p50.count()));
    }
    if (others.empty()) continue;
    all[i]->beside_others =
        static_cast<double>(all[i]->p50.count()) / MedianOf(others);
  }
  return all;
}

}  // namespace ers::proxy
