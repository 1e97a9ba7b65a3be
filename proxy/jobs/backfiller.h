// Backfiller: brings servers back that have left the view and answer again.
#ifndef ERS_PROXY_JOBS_BACKFILLER_H_
#define ERS_PROXY_JOBS_BACKFILLER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "config/policies.h"
#include "jobs/job_run.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/upkeep/backfill.h"

namespace ers::proxy {

// How far the backfilling is. A plain value.
struct BackfillState {
  std::vector<std::string> servers;  // that are being backfilled; empty: none
  std::uint64_t walk = 0;            // over all objects: 1, 2, ...
  std::uint64_t objects = 0;         // of this walk
  std::uint64_t total = 0;           // guessed until all servers listed theirs
  double seconds_left = -1;          // of this walk; negative: not known yet
  // Why a server that is back is not in sync, or that too many are out; else
  // empty.
  std::string last_error;
  std::uint64_t bytes_per_second = 0;  // the limit; 0: none
  // Since the start.
  std::uint64_t repaired = 0;  // objects that something was done for
  std::uint64_t lost = 0;      // objects that cannot be read any more
  std::uint64_t blocks = 0;    // stored
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

// Ends only when it is not at work. Loop thread only, but for state().
class Backfiller {
 public:
  // `host` gives the session, the store and whether to stop; it outlives this.
  Backfiller(JobHost& host, const BackfillLimits& limits);

  // To be called from time to time: checks what is out, and backfills those
  // that answer again.
  void Scan();
  // From now on, also for what is under way; all but the rate from the next
  // walk on.
  void SetLimits(const BackfillLimits& limits);
  // The host is stopping: ends soon. The next process goes on.
  void Stop();
  [[nodiscard]] bool at_work() const { return at_work_ || scanning_beside_; }
  // Any thread.
  [[nodiscard]] BackfillState state() const;

 private:
  net::Task<void> Work();
  net::Task<void> CheckServing();
  void NoteReturns();
  net::Task<void> ScanBeside();
  net::Task<void> FillAll();
  net::Task<Status> Fill();
  void OnProgress(const store::BackfillProgress& progress);
  void Report(const Status& status);

  JobHost& host_;
  BackfillLimits limits_;
  store::Pace pace_;
  bool at_work_ = false;
  bool filling_ = false;
  bool scanning_beside_ = false;  // while it is backfilling
  bool unfinished_ = false;       // a member is in the view, and not in sync
  net::Duration pause_{};         // before the next check
  net::TimePoint not_before_{};
  net::TimePoint logged_{};      // in the log, how far it is
  net::TimePoint complained_{};  // there, of what is in its way
  store::StopToken stop_;
  store::BackfillCounters counters_;
  store::DampedReturns damped_;
  store::SlowServers slow_;
  store::BackfillProgress progress_;  // as it was last reported

  mutable Mutex mutex_;
  BackfillState state_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_BACKFILLER_H_
