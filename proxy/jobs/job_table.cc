#include "jobs/job_table.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/micros.h"
#include "metrics/event_log.h"
#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

Status NoSuchJob(std::uint64_t id) {
  return {StatusCode::kNotFound, fmt::format("there is no job {}", id)};
}

// One line for each state that a job comes to: it may change every object.
void LogState(const Job& job) {
  const JobCounts& counts = job.counts;
  std::string line = fmt::format("job {}, to {}: {}", job.id, job.spec.to,
                                 JobStateName(job.state));
  if (job.state != JobState::kListing) {
    line += fmt::format(", {} changed, {} failed, {} left",
                        CountText(counts.changed, "object"), counts.failed,
                        counts.left);
  }
  if (!job.last_error.empty()) line += ": " + job.last_error;
  const bool bad = job.state == JobState::kFailed || counts.failed > 0;
  EventLog::OfProcess().Add(EventKind::kJob,
                            bad ? LogLevel::kWarning : LogLevel::kInfo, line);
}

}  // namespace

JobTable::JobTable(net::Runtime& runtime, std::unique_ptr<Journal> journal)
    : runtime_(runtime), journal_(std::move(journal)) {
  if (!journal_) return;
  next_id_ = journal_->highest_id() + 1;
  const MutexLock lock(mutex_);
  for (const JournalEntry& entry : journal_->entries()) {
    board_[entry.job.id] = entry.job;
  }
}

// --- What others see ---------------------------------------------------------

std::vector<Job> JobTable::List() const {
  const MutexLock lock(mutex_);
  std::vector<Job> jobs;
  for (const auto& [id, job] : board_) jobs.push_back(job);
  std::reverse(jobs.begin(), jobs.end());
  return jobs;
}

std::optional<Job> JobTable::Find(std::uint64_t id) const {
  const MutexLock lock(mutex_);
  const auto found = board_.find(id);
  if (found == board_.end()) return std::nullopt;
  return found->second;
}

JobTotals JobTable::totals() const {
  JobTotals totals;
  totals.failed = failed_;
  const MutexLock lock(mutex_);
  for (const auto& [id, job] : board_) {
    ++totals.by_state[static_cast<std::size_t>(job.state)];
  }
  return totals;
}

// --- Runs --------------------------------------------------------------------

void JobTable::Begin(JobHost& host) {
  host_ = &host;
  if (journal_) {
    for (const JournalEntry& entry : journal_->entries()) Add(entry);
  }
  for (auto& [id, one] : runs_) {
    if (Ended(one.run->job().state)) continue;
    EventLog::OfProcess().Add(
        EventKind::kJob, LogLevel::kInfo,
        fmt::format("job {} of the last process is taken up: {}", id,
                    JobStateName(one.run->job().state)));
    one.run->Begin();
  }
}

void JobTable::Stop() {
  for (auto& [id, one] : runs_) one.run->Stop();
}

void JobTable::End() {
  runs_.clear();
  journal_.reset();
}

bool JobTable::at_work() const {
  const auto works = [](const auto& one) { return one.second.run->at_work(); };
  return orders_ > 0 || std::any_of(runs_.begin(), runs_.end(), works);
}

void JobTable::Add(JournalEntry entry) {
  const std::uint64_t id = entry.job.id;
  runs_[id].run = std::make_unique<JobRun>(*host_, std::move(entry));
}

void JobTable::OnChanged(const Job& job, bool state_changed) {
  Run& one = runs_.at(job.id);
  bool other_state = false;
  {
    const MutexLock lock(mutex_);
    Job& shown = board_[job.id];
    other_state = shown.state != job.state;
    if (job.counts.failed > shown.counts.failed) {
      failed_ += job.counts.failed - shown.counts.failed;
    }
    shown = job;
  }
  if (other_state) LogState(job);
  one.dirty = true;
  if (state_changed) Save(job.id, [](const Status&) {});
}

void JobTable::Tick() {
  for (auto& [id, one] : runs_) {
    if (one.run->at_work()) {
      one.run->Tick();
      const MutexLock lock(mutex_);
      board_[id] = one.run->job();
    }
    if (one.dirty && one.saves == 0) Save(id, [](const Status&) {});
  }
}

// --- The journal -------------------------------------------------------------

// From the journal's thread to this one.
Journal::Done JobTable::Back(Journal::Done then) {
  ++orders_;
  return [this, then = std::move(then)](const Status& status) {
    runtime_.Post([this, then, status] {
      --orders_;
      if (status.ok()) {
        journal_fails_ = false;
      } else if (!std::exchange(journal_fails_, true)) {
        spdlog::error("{}: jobs go on, and are lost when this process ends",
                      status.message());
      }
      then(status);
    });
  };
}

void JobTable::Save(std::uint64_t id, Journal::Done then) {
  Run& one = runs_.at(id);
  one.dirty = false;
  if (!journal_) return then(Status());
  ++one.saves;
  const auto saved = [this, id, then = std::move(then)](const Status& status) {
    const auto found = runs_.find(id);
    if (found != runs_.end()) {
      --found->second.saves;
      // What is on disk is of an earlier state: tried again by the timer.
      if (!status.ok()) found->second.dirty = true;
    }
    then(status);
  };
  journal_->Save(id, JournalText(one.run->Entry()), Back(saved));
}

void JobTable::Remove(std::uint64_t id, Journal::Done then) {
  runs_.erase(id);
  {
    const MutexLock lock(mutex_);
    board_.erase(id);
  }
  if (!journal_) return then(Status());
  journal_->Remove(id, Back(std::move(then)));
}

// --- Commands ----------------------------------------------------------------

// The oldest that have ended are forgotten.
void JobTable::MakeRoom() {
  while (runs_.size() >= kMaxJobs) {
    const auto oldest =
        std::find_if(runs_.begin(), runs_.end(), [](const auto& one) {
          return Ended(one.second.run->job().state) &&
                 !one.second.run->at_work();
        });
    if (oldest == runs_.end()) return;
    Remove(oldest->first, [](const Status&) {});
  }
}

void JobTable::Create(JobSpec spec, const Callback& done) {
  if (host_->stopping) return done(Fail(Stopping()));
  const auto unfinished = std::count_if(
      runs_.begin(), runs_.end(),
      [](const auto& one) { return !Ended(one.second.run->job().state); });
  if (static_cast<std::size_t>(unfinished) >= kMaxUnfinishedJobs) {
    return done(Fail(StatusCode::kUnavailable,
                     fmt::format("{} jobs have not ended, and no more are "
                                 "allowed: cancel one, or wait",
                                 unfinished)));
  }
  MakeRoom();
  JournalEntry entry;
  entry.job.id = next_id_++;
  entry.job.spec = std::move(spec);
  entry.job.created = runtime_.WallMicros() / kMicrosPerSecond;
  const std::uint64_t id = entry.job.id;
  Add(std::move(entry));
  // Once answered, it is sure to be there after a crash, too.
  Save(id, [this, id, done](const Status& status) {
    const auto found = runs_.find(id);
    if (found == runs_.end()) {
      return done(Fail(StatusCode::kConflict,
                       fmt::format("job {} was forgotten meanwhile", id)));
    }
    if (!status.ok()) {
      // It may be there in part, and must not begin at the next start.
      Remove(id, [](const Status&) {});
      return done(Fail(status));
    }
    JobRun& run = *found->second.run;
    {
      const MutexLock lock(mutex_);
      board_[id] = run.job();
    }
    done(run.job());  // which says whose it is
    LogState(run.job());
    run.Begin();
  });
}

void JobTable::Command(std::uint64_t id, Status (JobRun::*command)(),
                       const Callback& done) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return done(Fail(NoSuchJob(id)));
  if (host_->stopping) return done(Fail(Stopping()));
  JobRun& run = *found->second.run;
  Status status = (run.*command)();
  if (!status.ok()) return done(Fail(std::move(status)));
  const Job job = run.job();
  Save(id, [job, done](const Status& saved) {
    if (saved.ok()) return done(job);
    done(Fail(saved));
  });
}

void JobTable::Forget(std::uint64_t id, const Callback& done) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return done(Fail(NoSuchJob(id)));
  const JobRun& run = *found->second.run;
  if (!Ended(run.job().state)) {
    return done(Fail(StatusCode::kConflict,
                     fmt::format("job {} is {}: cancel it first, or wait "
                                 "until it is done",
                                 id, JobStateName(run.job().state))));
  }
  if (run.at_work()) {
    return done(Fail(StatusCode::kConflict,
                     fmt::format("job {} is {}, and objects that it had begun "
                                 "with are still being changed: try again in "
                                 "a moment",
                                 id, JobStateName(run.job().state))));
  }
  const Job job = run.job();
  Remove(id, [job, done](const Status& removed) {
    if (removed.ok()) return done(job);
    done(Fail(removed));
  });
}

}  // namespace ers::proxy
