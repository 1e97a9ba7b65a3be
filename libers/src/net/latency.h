// Latency: how long a server has taken to answer lately.
#ifndef ERS_NET_LATENCY_H_
#define ERS_NET_LATENCY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "net/runtime.h"

namespace ers::net {

// A histogram of durations that forgets. Buckets are an eighth of their lower
// bound wide, from a microsecond to two minutes, so a quantile is off by at
// most that much. Every kHalveEvery all counts are halved: what was seen a
// minute ago counts little. One thread records, any thread reads.
class LatencyHistogram {
 public:
  static constexpr Duration kHalveEvery = std::chrono::seconds(5);
  // Fewer replies than this say nothing of a p99.
  static constexpr std::uint64_t kMinCount = 20;

  LatencyHistogram() = default;
  // Of its counts now.
  LatencyHistogram(const LatencyHistogram& other) { Add(other); }
  LatencyHistogram& operator=(const LatencyHistogram& other);

  void Record(Duration took, TimePoint now);
  // The counts of another one, too.
  void Add(const LatencyHistogram& other);

  // The duration that the part `quantile` (0 to 1) of them do not exceed;
  // nothing where fewer than `least` are remembered.
  [[nodiscard]] std::optional<Duration> Quantile(
      double quantile, std::uint64_t least = kMinCount) const;
  // How many are remembered.
  [[nodiscard]] std::uint64_t Count() const;

 private:
  static constexpr int kBitsOfBucket = 3;  // buckets in an octave: 8
  static constexpr std::size_t kBuckets = 200;
  static std::size_t BucketOf(Duration took);
  static Duration UpperBound(std::size_t bucket);

  std::array<std::atomic<std::uint32_t>, kBuckets> counts_{};
  TimePoint halved_at_;  // of the thread that records
};

// The same by how long the reply is, since a long one takes its time on any
// server. As a histogram.
class Latency {
 public:
  void Record(Duration took, std::size_t bytes, TimePoint now) {
    classes_[ClassOf(bytes)].Record(took, now);
  }
  // Of replies about as long.
  [[nodiscard]] const LatencyHistogram& OfReplies(std::size_t bytes) const {
    return OfClass(ClassOf(bytes));
  }
  // Of all replies.
  [[nodiscard]] LatencyHistogram All() const;

  // Lengths that are about the same: up to 1, 4, 16, 64 and 256 KiB, and
  // longer ones.
  static constexpr std::size_t kClasses = 6;
  static std::size_t ClassOf(std::size_t bytes);
  [[nodiscard]] const LatencyHistogram& OfClass(std::size_t number) const {
    return classes_[number];
  }

 private:
  std::array<LatencyHistogram, kClasses> classes_;
};

}  // namespace ers::net

#endif  // ERS_NET_LATENCY_H_
