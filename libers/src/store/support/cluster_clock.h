// ClusterClock: the one time that all processes of a cluster go by, whatever
// their own clocks show: that of the servers (docs/internals/view.md, Time).
#ifndef ERS_STORE_SUPPORT_CLUSTER_CLOCK_H_
#define ERS_STORE_SUPPORT_CLUSTER_CLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "net/runtime.h"

namespace ers::store {

// What all loops of a process know of it. Any thread.
class ClusterClock {
 public:
  explicit ClusterClock(std::size_t members) : bounds_(members) {}

  // Unix microseconds. Before half of the servers have shown theirs: by this
  // process's own clock, which counts for nothing afterwards. From then on it
  // never goes back.
  [[nodiscard]] std::int64_t Micros(net::Runtime& runtime) const;
  // The same; empty: by no server's clock yet.
  [[nodiscard]] std::optional<std::int64_t> Agreed(net::TimePoint now) const;

  // True for one caller in each while: it asks the servers, then calls Note.
  bool TakeTurn(net::TimePoint now);
  // A server's clock showed `seconds` at some time between `asked` and now.
  void Note(net::Runtime& runtime, int member, std::uint64_t seconds,
            net::TimePoint asked);

 private:
  // Microseconds from the monotonic clock to a server's.
  struct Bounds {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  // Of the servers that have answered; empty: too few have.
  [[nodiscard]] std::optional<Bounds> MedianLocked() const ERS_REQUIRES(mutex_);

  static constexpr std::int64_t kUnknown = INT64_MIN;
  std::atomic<std::int64_t> ahead_ = kUnknown;  // of the monotonic clock, us
  std::atomic<std::int64_t> least_ = 0;         // shown already
  std::atomic<net::TimePoint::rep> next_turn_ = 0;
  Mutex mutex_;
  std::vector<std::optional<Bounds>> bounds_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_CLUSTER_CLOCK_H_
