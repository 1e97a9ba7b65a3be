// Stats: the lines that `stats` answers.
#ifndef ERS_PROXY_SERVER_STATS_H_
#define ERS_PROXY_SERVER_STATS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "config/options.h"
#include "metrics/totals.h"
#include "server/worker.h"

namespace ers::proxy {

// Any thread.
class Stats {
 public:
  using Visit = std::function<void(std::string_view, std::string_view)>;

  Stats(const ServerOptions& options, const Shared& shared)
      : options_(options), shared_(shared) {}

  // Before any other call; all outlive this. `background` (null: none) is what
  // is done for no client.
  void Watch(const std::vector<std::unique_ptr<Worker>>& workers,
             const store::SessionCounters* background,
             const store::ClusterClock& clock) {
    workers_ = &workers;
    background_ = background;
    clock_ = &clock;
  }
  // The lines of `stats ARGUMENT`, and what stands in place of END, or "";
  // nothing: there are no such stats.
  std::optional<std::string> Answer(const std::string& argument,
                                    const Visit& stat);
  // Over all workers and the background since the start.
  [[nodiscard]] Totals Sum() const;

 private:
  void General(const Visit& stat);
  void Settings(const Visit& stat) const;
  void Items(const Visit& stat) const;
  void Slabs(const Visit& stat) const;
  // StatValues, less what they were at the last reset.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>>
  SinceReset() const;
  void Reset();

  const ServerOptions& options_;
  const Shared& shared_;
  const std::vector<std::unique_ptr<Worker>>* workers_ = nullptr;
  const store::SessionCounters* background_ = nullptr;
  const store::ClusterClock* clock_ = nullptr;
  mutable Mutex mutex_;
  // Of StatValues; empty: never.
  std::vector<std::uint64_t> at_reset_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_STATS_H_
