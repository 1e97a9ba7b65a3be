// MemoryWatch: what servers report of their memory, from time to time.
#ifndef ERS_PROXY_JOBS_MEMORY_WATCH_H_
#define ERS_PROXY_JOBS_MEMORY_WATCH_H_

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "jobs/job_run.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/upkeep/memory_use.h"

namespace ers::proxy {

// By member; nothing of one that did not answer when it was asked last.
using MemoryReports = std::vector<std::optional<store::MemoryUse>>;

// So seldom are servers asked, however often the numbers are read; and while
// they are not read.
inline constexpr net::Duration kAskMemoryEvery = std::chrono::seconds(5);
inline constexpr net::Duration kAskMemoryUnread = std::chrono::minutes(1);

// Loop thread only, but for reports(); ends only when it is not at work.
class MemoryWatch {
 public:
  // `host` gives the session and whether to stop; it outlives this.
  explicit MemoryWatch(JobHost& host) : host_(host) {}

  // To be called from time to time: asks, if it is time for that.
  void Scan();
  [[nodiscard]] bool at_work() const { return at_work_; }
  // Any thread.
  [[nodiscard]] MemoryReports reports() const;

 private:
  net::Task<void> Ask();

  JobHost& host_;
  bool at_work_ = false;
  net::TimePoint next_{};
  net::TimePoint unread_until_{};  // not before, but if the numbers were read
  mutable std::atomic<bool> read_{false};  // since they were asked for

  mutable Mutex mutex_;
  MemoryReports reports_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_MEMORY_WATCH_H_
