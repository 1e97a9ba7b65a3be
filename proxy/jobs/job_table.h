// JobTable: the jobs that there are, at work or ended: how others see them,
// what is asked of them, and their journal.
#ifndef ERS_PROXY_JOBS_JOB_TABLE_H_
#define ERS_PROXY_JOBS_JOB_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "ers/status.h"
#include "jobs/job.h"
#include "jobs/job_json.h"
#include "jobs/job_run.h"
#include "jobs/journal.h"
#include "net/runtime.h"

namespace ers::proxy {

inline constexpr std::size_t kMaxUnfinishedJobs = 32;
// With those that have ended, of which the oldest are forgotten.
inline constexpr std::size_t kMaxJobs = 256;

// What jobs have done since the start, and how many there are.
struct JobTotals {
  std::uint64_t changed = 0;  // objects
  std::uint64_t failed = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::array<std::uint64_t, std::size(kJobStates)> by_state{};
};

class JobTable {
 public:
  // Has what the journal has; null: none, jobs end with the process. The
  // runtime outlives this.
  JobTable(net::Runtime& runtime, std::unique_ptr<Journal> journal);
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  // Any thread. Newest first.
  [[nodiscard]] std::vector<Job> List() const;
  [[nodiscard]] std::optional<Job> Find(std::uint64_t id) const;
  // `failed` and `by_state`.
  [[nodiscard]] JobTotals totals() const;

  // The loop's thread alone, from here on. Jobs that have not ended go on. The
  // host outlives the runs.
  void Begin(JobHost& host);
  // The host is stopping.
  void Stop();
  [[nodiscard]] bool at_work() const;
  // None is at work: their runs are over, and the journal is let go.
  void End();

  // As JobHost says.
  void OnChanged(const Job& job, bool state_changed);
  // Calls `then` when it is on disk; at once without a journal.
  void Save(std::uint64_t id, Journal::Done then);
  // Now and then: shows and saves what has changed meanwhile.
  void Tick();

  // What is answered, and when, is that of Jobs.
  using Callback = std::function<void(const Result<Job>&)>;
  void Create(JobSpec spec, const Callback& done);
  void Command(std::uint64_t id, Status (JobRun::*command)(),
               const Callback& done);
  void Forget(std::uint64_t id, const Callback& done);

 private:
  struct Run {
    std::unique_ptr<JobRun> run;
    int saves = 0;       // under way
    bool dirty = false;  // counted more than was saved
  };

  void Add(JournalEntry entry);
  void MakeRoom();
  void Remove(std::uint64_t id, Journal::Done then);
  Journal::Done Back(Journal::Done then);

  net::Runtime& runtime_;
  JobHost* host_ = nullptr;  // from Begin on
  std::map<std::uint64_t, Run> runs_;
  std::uint64_t next_id_ = 1;
  int orders_ = 0;  // to the journal, not carried out yet
  bool journal_fails_ = false;
  std::atomic<std::uint64_t> failed_{0};

  mutable Mutex mutex_;
  std::map<std::uint64_t, Job> board_ ERS_GUARDED_BY(mutex_);

  std::unique_ptr<Journal> journal_;  // null: none. Ends before all else
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JOB_TABLE_H_
