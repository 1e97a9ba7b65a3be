// GarbageCollector: drops what killed processes and the like have left on the
// servers: from time to time, behind a flush, where a server had no memory for
// something, and when it is asked to. And drops what has ended after its life
// was changed.
#ifndef ERS_PROXY_JOBS_GARBAGE_COLLECTOR_H_
#define ERS_PROXY_JOBS_GARBAGE_COLLECTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "config/policies.h"
#include "ers/garbage.h"
#include "ers/status.h"
#include "jobs/job_run.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/format/view.h"
#include "store/upkeep/garbage.h"

namespace ers::proxy {

// Since the start, of collections that dropped what they found.
struct GarbageTotals {
  std::uint64_t collections = 0;  // that checked all there is
  std::uint64_t dropped = 0;      // blocks
  std::uint64_t dropped_bytes = 0;
  GarbageReport last;      // of the last one
  std::int64_t ended = 0;  // Unix seconds, of that; 0: there was none
};

// What is empty is left to the settings.
struct GarbageRequest {
  std::optional<std::chrono::milliseconds> grace;
  std::optional<std::uint64_t> objects_per_second;
  bool dry_run = false;
};
// kInvalidArgument: what is wrong with the JSON.
Result<GarbageRequest> ParseGarbageRequest(std::string_view text);

// Loop thread only, but for totals; ends only when it is not at work.
class GarbageCollector {
 public:
  // `host` gives the session and whether to stop; it outlives this. Checks
  // every so often, the first time within a minute; 0: only when it is asked
  // to.
  GarbageCollector(JobHost& host, const GarbageSettings& settings);

  // To be called from time to time: collects, if it is time for that.
  void Scan();
  // kConflict: it is at work already.
  using Callback = std::function<void(const Result<GarbageReport>&)>;
  void Collect(const GarbageRequest& request, Callback done);
  // The host is stopping: ends soon.
  void Stop() { stop_.Stop(); }
  [[nodiscard]] bool at_work() const { return at_work_ || dropping_; }
  // Any thread.
  [[nodiscard]] GarbageTotals totals() const;

 private:
  // The mark and the time of the last flush in effect.
  using Flush = std::pair<store::FlushMark, std::uint64_t>;
  Flush LastFlush();
  void CheckForEnded();
  net::Task<void> DropEnded(std::vector<std::string> keys);
  bool MemoryIsWanted();
  void CollectForMemory();
  void Begin(const GarbageOptions& options, int parallel, Callback done);
  net::Task<void> Work(store::GarbageTerms terms, Callback done);
  void Count(const GarbageReport& report);

  static constexpr std::chrono::seconds kShortestNap{1};

  JobHost& host_;
  const GarbageSettings settings_;
  bool at_work_ = false;
  bool dropping_ = false;  // what ended a moment ago
  net::TimePoint next_;
  // As of the last collection's begin.
  std::uint64_t shortages_seen_ = 0;
  Flush flush_seen_;
  Flush flush_done_;               // nothing of before it is there
  net::TimePoint next_for_flush_;  // not before
  // Servers that stay full are searched less and less often.
  net::TimePoint next_for_memory_;
  net::Duration nap_ = kShortestNap;
  store::StopToken stop_;
  mutable Mutex mutex_;
  GarbageTotals totals_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_GARBAGE_COLLECTOR_H_
