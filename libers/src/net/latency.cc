#include "net/latency.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace ers::net {

// Small numbers have a bucket each. From eight on the highest bit and the three
// behind it choose one.
std::size_t LatencyHistogram::BucketOf(Duration took) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count(), 0));
  constexpr std::uint64_t kSmall = std::uint64_t{1} << kBitsOfBucket;
  if (us < kSmall) return us;
  const int octave = static_cast<int>(std::bit_width(us)) - 1 - kBitsOfBucket;
  const std::uint64_t within = (us >> octave) - kSmall;
  const std::uint64_t bucket =
      kSmall + static_cast<std::uint64_t>(octave) * kSmall + within;
  return std::min<std::uint64_t>(bucket, kBuckets - 1);
}

Duration LatencyHistogram::UpperBound(std::size_t bucket) {
  constexpr std::size_t kSmall = std::size_t{1} << kBitsOfBucket;
  if (bucket < kSmall) return std::chrono::microseconds(bucket + 1);
  const std::size_t octave = (bucket - kSmall) / kSmall;
  const std::size_t within = (bucket - kSmall) % kSmall;
  return std::chrono::microseconds((kSmall + within + 1) << octave);
}

void LatencyHistogram::Record(Duration took, TimePoint now) {
  if (now - halved_at_ >= kHalveEvery) {
    const auto periods = (now - halved_at_) / kHalveEvery;
    const int shift = static_cast<int>(std::min<std::int64_t>(periods, 31));
    for (std::atomic<std::uint32_t>& count : counts_) {
      count.store(count.load(std::memory_order_relaxed) >> shift,
                  std::memory_order_relaxed);
    }
    halved_at_ = now;
  }
  std::atomic<std::uint32_t>& count = counts_[BucketOf(took)];
  count.store(count.load(std::memory_order_relaxed) + 1,
              std::memory_order_relaxed);
}

LatencyHistogram& LatencyHistogram::operator=(const LatencyHistogram& other) {
  if (this == &other) return *this;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    counts_[i].store(other.counts_[i].load(std::memory_order_relaxed),
                     std::memory_order_relaxed);
  }
  halved_at_ = {};
  return *this;
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    counts_[i].store(counts_[i].load(std::memory_order_relaxed) +
                         other.counts_[i].load(std::memory_order_relaxed),
                     std::memory_order_relaxed);
  }
}

std::uint64_t LatencyHistogram::Count() const {
  std::uint64_t count = 0;
  for (const std::atomic<std::uint32_t>& each : counts_) {
    count += each.load(std::memory_order_relaxed);
  }
  return count;
}

std::optional<Duration> LatencyHistogram::Quantile(double quantile,
                                                   std::uint64_t least) const {
  const std::uint64_t count = Count();
  if (count < std::max<std::uint64_t>(least, 1)) return {};
  const auto rank = static_cast<std::uint64_t>(
      std::ceil(quantile * static_cast<double>(count)));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    if (below >= std::max<std::uint64_t>(rank, 1)) return UpperBound(i);
  }
  return UpperBound(kBuckets - 1);
}

LatencyHistogram Latency::All() const {
  LatencyHistogram all;
  for (const LatencyHistogram& each : classes_) all.Add(each);
  return all;
}

std::size_t Latency::ClassOf(std::size_t bytes) {
  std::size_t most = 1024;
  for (std::size_t i = 0; i < kClasses - 1; ++i, most *= 4) {
    if (bytes <= most) return i;
  }
  return kClasses - 1;
}

}  // namespace ers::net
