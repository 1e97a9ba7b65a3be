// JobRun: one job at work, or waiting to go on.
#ifndef ERS_PROXY_JOBS_JOB_RUN_H_
#define ERS_PROXY_JOBS_JOB_RUN_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "engine/changing_keys.h"
#include "ers/object_info.h"
#include "jobs/job.h"
#include "jobs/job_json.h"
#include "jobs/pack_batch.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/repair/listing.h"
#include "store/support/rate_limiter.h"

namespace ers::proxy {

// Objects that one job can take; what it cannot, another one can.
inline constexpr std::size_t kMaxJobObjects = 10'000'000;

// What all jobs of a daemon share. Loop thread only.
struct JobHost {
  store::Session& session;
  store::Store& store;
  ChangingKeys& changing;
  bool& listing;          // one at a time: servers allow no more
  bool stopping = false;  // begin nothing more
  // The job is another one: its state, or only what it counts.
  std::function<void(const Job& job, bool state_changed)> changed;
  // Calls `then` when the job, as it is now, is in the journal, or cannot be.
  std::function<void(const Job& job, std::function<void()> then)> save;
  // An object was changed.
  std::function<void(const TransitionInfo&)> moved;
  // The servers were checked; may be empty.
  std::function<void(const Status& serves)> checked = {};
  // To which wider width, and which m, a listed object goes, of those that the
  // job's selection takes and its target would change; nullopt: it stays.
  // Empty: all go to the target.
  std::function<std::optional<TransitionTarget>(const store::ListedObject&)>
      choose = {};
};

// What is asked of a host that is stopping comes to this.
Status Stopping();

// Waits for a time, also in vain.
net::Task<void> Nap(net::Runtime& runtime, net::Duration duration);

// What the object is now, as the servers say. It counts as no read of it.
net::Task<Result<GetInfo>> ReadInfo(store::Store& store,
                                    const std::string& key);

// Keeps the keys of its objects from the listing on. Loop thread only; ends
// only when it is not at work.
class JobRun {
 public:
  JobRun(JobHost& host, JournalEntry entry);

  // Goes on where its state says so.
  void Begin();
  // OK: it has that state now, or had it. kConflict: it has ended.
  Status Pause();
  Status Resume();
  Status Cancel();
  // The host is stopping: ends soon, and keeps its state.
  void Stop();

  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] bool at_work() const { return at_work_; }
  // As it is now, for the journal.
  [[nodiscard]] JournalEntry Entry() const;
  // Brings its times up to date.
  void Tick();

 private:
  struct Queued {
    std::string key;
    std::uint64_t length = 0;
    std::optional<TransitionTarget> chosen;
  };

  net::Task<void> Run();
  net::Task<Status> ListOnce();
  net::Task<Status> ListWithRetries();
  void TakeListed(const store::ListedObject& object, JobCounts& counts,
                  Status& status);
  net::Task<void> WorkOff();
  void BackfillLanes();
  net::Task<void> Lane(net::Latch& latch);
  net::Task<void> PackLane(net::Latch& latch);
  void CountPacked(const PackOutcome& outcome);
  [[nodiscard]] bool AllTaken() const {
    return queue_.empty() && packs_.empty();
  }
  net::Task<bool> Admit(std::uint64_t estimate);
  net::Task<Result<TransitionInfo>> Move(const Queued& object);
  net::Task<void> Change(const Queued& object, std::uint64_t estimate);
  void Count(const Result<TransitionInfo>& result, bool uncertain);
  [[nodiscard]] std::uint64_t Estimate(std::uint64_t length) const;
  void SetState(JobState state);
  void Report(bool state_changed);
  // It is to be at work.
  [[nodiscard]] bool Going() const;

  JobHost& host_;
  net::Runtime& runtime_;
  Job job_;
  // The journal's, of the process before, until the objects were listed anew.
  std::optional<JournalEntry> before_;
  bool listed_ = false;  // queue_ holds all objects that are left
  // The process before may have begun a change that is finished by the next
  // one of that object.
  bool recovered_ = false;
  std::deque<Queued> queue_;
  PackQueue packs_;  // in its place, of a job that packs
  std::multiset<std::string> under_way_;
  store::RateLimiter limiter_;
  store::StopToken* listing_ = nullptr;  // while it lists
  net::Latch* lanes_ = nullptr;          // while objects are worked off
  bool at_work_ = false;
  net::TimePoint lap_;          // when times were brought up to date
  double running_seconds_ = 0;  // of these objects
  std::uint64_t tried_ = 0;
  std::uint64_t tried_bytes_ = 0;  // of their values
  std::uint64_t moved_bytes_ = 0;  // for those that were changed
  std::uint64_t changed_bytes_ = 0;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JOB_RUN_H_
