// RecentRequests: how many requests came lately, and how long they took.
#ifndef ERS_PROXY_METRICS_RECENT_REQUESTS_H_
#define ERS_PROXY_METRICS_RECENT_REQUESTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "metrics/histogram.h"
#include "metrics/request_meter.h"
#include "net/runtime.h"

namespace ers::proxy {

// What reads a value, and what stores or changes one; all else is neither.
enum class RequestKind : std::uint8_t { kGet, kSet };
inline constexpr std::string_view kRequestKinds[] = {"get", "set"};

// Below which the part of the requests of `sum` stayed, as if those of a bucket
// were spread over it evenly. Nothing where there were none.
std::optional<net::Duration> Quantile(const HistogramSum& sum, double part);

// Of a span of time. A plain value.
struct RequestRates {
  struct Rate {
    double per_second = 0;
    std::optional<net::Duration> p50;  // nothing: there were none
    std::optional<net::Duration> p99;
  };
  double seconds = 0;  // of the span; 0: not known yet
  std::array<Rate, std::size(kRequestKinds)> of;  // by RequestKind
  double errors_per_second = 0;  // answered with a server's error
};

// One thread.
class RecentRequests {
 public:
  static constexpr std::size_t kSamples = 121;
  static constexpr std::size_t kLately = 10;

  // What all requests since the start have come to; to be called once a second.
  void Take(const RequestSums& sums, net::TimePoint now);
  // Of the last kLately samples.
  [[nodiscard]] RequestRates Lately() const;
  // From one sample to the next, the oldest first.
  [[nodiscard]] std::vector<RequestRates> History() const;

 private:
  struct Sample {
    net::TimePoint at;
    std::array<HistogramSum, std::size(kRequestKinds)> durations;
    std::uint64_t errors = 0;
  };
  static RequestRates Between(const Sample& first, const Sample& last);

  std::deque<Sample> samples_;  // the oldest first
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_RECENT_REQUESTS_H_
