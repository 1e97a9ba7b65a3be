// Histogram: how long things took, in buckets that are the same everywhere.
#ifndef ERS_PROXY_METRICS_HISTOGRAM_H_
#define ERS_PROXY_METRICS_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/count.h"
#include "net/runtime.h"

namespace ers::proxy {

// Upper bounds of the buckets in nanoseconds, three to a decade, each bound in
// its bucket; one more bucket takes what is longer.
inline constexpr std::array<std::int64_t, 19> kBucketBounds = {
    10'000,        20'000,        50'000,        100'000,       200'000,
    500'000,       1'000'000,     2'000'000,     5'000'000,     10'000'000,
    20'000'000,    50'000'000,    100'000'000,   200'000'000,   500'000'000,
    1'000'000'000, 2'000'000'000, 5'000'000'000, 10'000'000'000};
inline constexpr std::size_t kBuckets = kBucketBounds.size() + 1;

// What a Histogram, or several of them together, held. A plain value.
struct HistogramSum {
  std::array<std::uint64_t, kBuckets> buckets{};  // each by itself
  std::uint64_t nanoseconds = 0;

  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const std::uint64_t bucket : buckets) all += bucket;
    return all;
  }
};

// One writer; any thread may read.
class Histogram {
 public:
  void Add(net::Duration time) {
    const std::int64_t length = std::max<std::int64_t>(0, time.count());
    const auto bucket =
        std::lower_bound(kBucketBounds.begin(), kBucketBounds.end(), length);
    buckets_[static_cast<std::size_t>(bucket - kBucketBounds.begin())].Add();
    nanoseconds_.Add(static_cast<std::uint64_t>(length));
  }
  void AddTo(HistogramSum& sum) const {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      sum.buckets[i] += buckets_[i].Get();
    }
    sum.nanoseconds += nanoseconds_.Get();
  }

 private:
  std::array<Count, kBuckets> buckets_;
  Count nanoseconds_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_HISTOGRAM_H_
