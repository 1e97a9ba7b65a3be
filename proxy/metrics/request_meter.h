// RequestMeter: how many requests of each command had which result, and how
// long they took.
#ifndef ERS_PROXY_METRICS_REQUEST_METER_H_
#define ERS_PROXY_METRICS_REQUEST_METER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/count.h"
#include "metrics/commands.h"
#include "metrics/histogram.h"

namespace ers::proxy {

// A plain value: of all workers together.
struct RequestSums {
  std::array<std::array<std::uint64_t, kResults>, kCommands> results{};
  std::array<HistogramSum, kCommands> durations;
};

// One writer, its worker; any thread may read.
class RequestMeter {
 public:
  void Add(Command command, RequestResult result, net::Duration time) {
    const auto index = static_cast<std::size_t>(command);
    results_[index][static_cast<std::size_t>(result)].Add();
    durations_[index].Add(time);
  }
  void AddTo(RequestSums& sums) const {
    for (std::size_t i = 0; i < kCommands; ++i) {
      for (std::size_t j = 0; j < kResults; ++j) {
        sums.results[i][j] += results_[i][j].Get();
      }
      durations_[i].AddTo(sums.durations[i]);
    }
  }

 private:
  std::array<std::array<Count, kResults>, kCommands> results_;
  std::array<Histogram, kCommands> durations_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_REQUEST_METER_H_
