#include "jobs/jobs.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/micros.h"
#include "base/mutex.h"
#include "shared/log.h"
#include "store/membership/participants.h"
#include "store/upkeep/replace.h"

namespace ers::proxy {
namespace {

using net::Task;

// Between two looks at what is to be saved.
constexpr std::chrono::milliseconds kPeriod(500);
constexpr std::size_t kManifests = 1024;

Status NoSuchJob(std::uint64_t id) {
  return {StatusCode::kNotFound, fmt::format("there is no job {}", id)};
}

// One line for each state that a job comes to: it may change every object.
void LogState(const Job& job) {
  const JobCounts& counts = job.counts;
  std::string line = fmt::format("job {}, to {}: {}", job.id, job.spec.to,
                                 JobStateName(job.state));
  if (job.state != JobState::kListing) {
    line += fmt::format(", {} objects changed, {} failed, {} left",
                        counts.changed, counts.failed, counts.left);
  }
  if (!job.last_error.empty()) line += ": " + job.last_error;
  LogLine(job.state == JobState::kFailed ? LogLevel::kWarning : LogLevel::kInfo,
          line);
}

Status Stopping() {
  return {StatusCode::kUnavailable,
          "the daemon is ending: try again when it is back"};
}

}  // namespace

Jobs::Jobs(const ServerOptions& options,
           std::shared_ptr<store::ClusterState> cluster, ChangingKeys& changing)
    : options_(options),
      cluster_(std::move(cluster)),
      changing_(changing),
      servers_(static_cast<int>(cluster_->endpoints.size())),
      session_counters_(
          std::make_shared<store::SessionCounters>(cluster_->endpoints.size())),
      loop_(net::NewEventLoop()) {}

Jobs::~Jobs() = default;

Result<std::unique_ptr<Jobs>> Jobs::Open(
    const ServerOptions& options, std::shared_ptr<store::ClusterState> cluster,
    ChangingKeys& changing) {
  std::unique_ptr<Jobs> jobs(new Jobs(options, std::move(cluster), changing));
  if (options.state_dir.empty()) return jobs;
  Result<std::unique_ptr<Journal>> journal = Journal::Open(options.state_dir);
  if (!journal) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{}: {}", options.PlaceOf("state_dir"),
                            journal.error().message()));
  }
  jobs->journal_ = std::move(*journal);
  jobs->next_id_ = jobs->journal_->highest_id() + 1;
  {
    const MutexLock lock(jobs->mutex_);
    for (const JournalEntry& entry : jobs->journal_->entries()) {
      jobs->board_[entry.job.id] = entry.job;
    }
  }
  return jobs;
}

void Jobs::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Jobs::Stop() {
  loop_->Post([this] {
    host_->stopping = true;
    for (auto& [id, one] : runs_) one.run->Stop();
    policies_->Stop();
    backfiller_->Stop();
    garbage_->Stop();
    follower_->Stop();
  });
}

void Jobs::SetPolicies(const Policies& policies) {
  loop_->Post([this, policies] {
    if (!host_->stopping) policies_->Set(policies);
  });
}

void Jobs::SetBackfill(const BackfillLimits& limits) {
  loop_->Post([this, limits] {
    if (!host_->stopping) backfiller_->SetLimits(limits);
  });
}

void Jobs::TakeHits(HitBatch hits) {
  loop_->Post([this, hits = std::move(hits)] { policies_->TakeHits(hits); });
}

void Jobs::Join() {
  loop_->Post([this] { ending_ = true; });
  thread_.join();
}

bool Jobs::Quiet() const {
  const auto at_rest = [](const auto& one) {
    return !one.second.run->at_work();
  };
  return singles_ == 0 && orders_ == 0 && !replacing_ &&
         !policies_->at_work() && !backfiller_->at_work() &&
         !garbage_->at_work() && !follower_->at_work() &&
         std::all_of(runs_.begin(), runs_.end(), at_rest);
}

void Jobs::Loop() {
  session_ = std::make_unique<store::Session>(*loop_, cluster_, kManifests,
                                              session_counters_);
  store_ = std::make_unique<store::Store>(*session_, options_.client);
  const auto changed = [this](const Job& job, bool state_changed) {
    OnChanged(job, state_changed);
  };
  const auto save = [this](const Job& job, std::function<void()> then) {
    Save(job.id, [then = std::move(then)](const Status&) { then(); });
  };
  const auto moved = [this](const TransitionInfo& info) {
    changed_ += 1;
    bytes_read_ += info.bytes_read;
    bytes_written_ += info.bytes_written;
  };
  host_ = std::make_unique<JobHost>(JobHost{
      *session_, *store_, changing_, listing_, false, changed, save, moved,
      [this](const Status& serves) { serving_.Note(*session_, serves); }});
  {
    const MutexLock lock(mutex_);
    policies_ = std::make_unique<PolicyRunner>(*host_);
    garbage_ = std::make_unique<GarbageCollector>(*host_, options_.garbage);
    backfiller_ = std::make_unique<Backfiller>(*host_, options_.backfill);
    follower_ = std::make_unique<store::EvictionFollower>(*session_);
  }
  policies_->Set(options_.policies);
  if (journal_) {
    for (const JournalEntry& entry : journal_->entries()) Add(entry);
  }
  for (auto& [id, one] : runs_) {
    if (Ended(one.run->job().state)) continue;
    spdlog::info("job {} of the last process is taken up: {}", id,
                 JobStateName(one.run->job().state));
    one.run->Begin();
  }
  timer_ = loop_->NewTimer([this] { OnTimer(); });
  timer_->Start({});  // the start waits for the first look
  loop_->RunUntil([this] { return ending_ && Quiet(); });
  timer_.reset();
  runs_.clear();
  {
    const MutexLock lock(mutex_);
    policies_.reset();
    garbage_.reset();
    backfiller_.reset();
    follower_.reset();
  }
  host_.reset();
  store_.reset();
  session_.reset();
}

void Jobs::Add(JournalEntry entry) {
  const std::uint64_t id = entry.job.id;
  runs_[id].run = std::make_unique<JobRun>(*host_, std::move(entry));
}

// --- What others see ---------------------------------------------------------

std::vector<Job> Jobs::List() const {
  const MutexLock lock(mutex_);
  std::vector<Job> jobs;
  for (const auto& [id, job] : board_) jobs.push_back(job);
  std::reverse(jobs.begin(), jobs.end());
  return jobs;
}

std::optional<Job> Jobs::Find(std::uint64_t id) const {
  const MutexLock lock(mutex_);
  const auto found = board_.find(id);
  if (found == board_.end()) return std::nullopt;
  return found->second;
}

JobTotals Jobs::totals() const {
  JobTotals totals;
  totals.changed = changed_;
  totals.failed = failed_;
  totals.bytes_read = bytes_read_;
  totals.bytes_written = bytes_written_;
  const MutexLock lock(mutex_);
  for (const auto& [id, job] : board_) {
    ++totals.by_state[static_cast<std::size_t>(job.state)];
  }
  return totals;
}

PolicyCounts Jobs::policy_counts() const {
  const MutexLock lock(mutex_);
  return policies_ ? policies_->counts() : PolicyCounts();
}

void Jobs::CollectGarbage(GarbageRequest request, GarbageCollector::Told told) {
  loop_->Post([this, request, told = std::move(told)] {
    spdlog::info("garbage asked for by hand is looked for");
    garbage_->Collect(request, [told,
                                request](const Result<GarbageReport>& report) {
      if (report) {
        spdlog::info("garbage asked for by hand: {} of {} blocks {}",
                     report->dropped, report->listed,
                     request.dry_run ? "found, and left" : "dropped");
      } else {
        spdlog::warn("garbage asked for by hand: {}", report.error().message());
      }
      told(report);
    });
  });
}

void Jobs::Replace(Replacement replacement, Replaced told) {
  loop_->Post(
      [this, replacement = std::move(replacement), told = std::move(told)] {
        if (ending_) return told(Stopping());
        if (replacing_) {
          return told(Status(StatusCode::kConflict,
                             "a server is being replaced: wait until that is "
                             "done"));
        }
        replacing_ = true;
        session_->Detach(ReplaceHere(replacement, told));
      });
}

Task<void> Jobs::ReplaceHere(Replacement replacement, Replaced told) {
  const Status status = co_await store::ReplaceServer(
      *session_, replacement.old_server, replacement.new_server);
  replacing_ = false;
  LogLine(LogLevel::kInfo,
          fmt::format("replacing {} by {}, asked for over HTTP: {}",
                      replacement.old_server, replacement.new_server,
                      status.ok() ? "done" : status.message()));
  told(status);
}

GarbageTotals Jobs::garbage_totals() const {
  const MutexLock lock(mutex_);
  return garbage_ ? garbage_->totals() : GarbageTotals();
}

BackfillState Jobs::backfill_state() const {
  const MutexLock lock(mutex_);
  return backfiller_ ? backfiller_->state() : BackfillState();
}

void Jobs::OnChanged(const Job& job, bool state_changed) {
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

namespace {

// Other processes must not wait for this one because nobody asks it anything.
net::Task<void> KeepLease(store::Session& session) {
  const Status status = co_await store::EnsureLease(session);
  if (!status.ok()) spdlog::debug("no lease: {}", status.message());
}

}  // namespace

void Jobs::OnTimer() {
  for (auto& [id, one] : runs_) {
    if (one.run->at_work()) {
      one.run->Tick();
      const MutexLock lock(mutex_);
      board_[id] = one.run->job();
    }
    if (one.dirty && one.saves == 0) Save(id, [](const Status&) {});
  }
  backfiller_->Scan();
  garbage_->Scan();
  follower_->Scan();
  if (session_->view()) session_->Detach(KeepLease(*session_));
  timer_->Start(kPeriod);
}

// --- The journal -------------------------------------------------------------

// From the journal's thread to this one.
Journal::Done Jobs::Back(Journal::Done then) {
  ++orders_;
  return [this, then = std::move(then)](const Status& status) {
    loop_->Post([this, then, status] {
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

void Jobs::Save(std::uint64_t id, Journal::Done then) {
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

void Jobs::Remove(std::uint64_t id, Journal::Done then) {
  runs_.erase(id);
  {
    const MutexLock lock(mutex_);
    board_.erase(id);
  }
  if (!journal_) return then(Status());
  journal_->Remove(id, Back(std::move(then)));
}

// --- Commands ----------------------------------------------------------------

Status Jobs::CheckTarget(const TransitionTarget& target) const {
  if (!target.scheme) return {};
  const Scheme& scheme = *target.scheme;
  if (NodeCount(scheme) > servers_) {
    return {StatusCode::kInvalidArgument,
            fmt::format("to: scheme {} needs {} servers and there are {}: "
                        "choose a narrower scheme",
                        FormatScheme(scheme), NodeCount(scheme), servers_)};
  }
  if (scheme.m > options_.cluster.max_failures) {
    return {StatusCode::kInvalidArgument,
            fmt::format("to: scheme {} has m = {}: max_failures is {}; "
                        "choose a scheme of a smaller m",
                        FormatScheme(scheme), scheme.m,
                        options_.cluster.max_failures)};
  }
  return {};
}

void Jobs::Create(JobSpec spec, Told told) {
  Status fits = CheckTarget(spec.target);
  if (!fits.ok()) return told(Fail(std::move(fits)));
  loop_->Post([this, spec = std::move(spec), told = std::move(told)] {
    CreateHere(spec, told);
  });
}

// The oldest that have ended are forgotten.
void Jobs::MakeRoom() {
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

void Jobs::CreateHere(JobSpec spec, const Told& told) {
  if (host_->stopping) return told(Fail(Stopping()));
  const auto unfinished = std::count_if(
      runs_.begin(), runs_.end(),
      [](const auto& one) { return !Ended(one.second.run->job().state); });
  if (static_cast<std::size_t>(unfinished) >= kMaxUnfinishedJobs) {
    return told(Fail(StatusCode::kUnavailable,
                     fmt::format("{} jobs have not ended, and no more are "
                                 "allowed: cancel one, or wait",
                                 unfinished)));
  }
  MakeRoom();
  JournalEntry entry;
  entry.job.id = next_id_++;
  entry.job.spec = std::move(spec);
  entry.job.created = loop_->WallMicros() / kMicrosPerSecond;
  const std::uint64_t id = entry.job.id;
  Add(std::move(entry));
  // Told, it is sure to be there after a crash, too.
  Save(id, [this, id, told](const Status& status) {
    const auto found = runs_.find(id);
    if (found == runs_.end()) {
      return told(Fail(StatusCode::kConflict,
                       fmt::format("job {} was forgotten meanwhile", id)));
    }
    if (!status.ok()) {
      runs_.erase(found);
      const MutexLock lock(mutex_);
      board_.erase(id);
      return told(Fail(status));
    }
    JobRun& run = *found->second.run;
    {
      const MutexLock lock(mutex_);
      board_[id] = run.job();
    }
    LogState(run.job());
    told(run.job());
    run.Begin();
  });
}

void Jobs::Command(std::uint64_t id, Status (JobRun::*command)(), Told told) {
  loop_->Post([this, id, command, told = std::move(told)] {
    const auto found = runs_.find(id);
    if (found == runs_.end()) return told(Fail(NoSuchJob(id)));
    if (host_->stopping) return told(Fail(Stopping()));
    JobRun& run = *found->second.run;
    Status status = (run.*command)();
    if (!status.ok()) return told(Fail(std::move(status)));
    const Job job = run.job();
    Save(id, [job, told](const Status& saved) {
      if (saved.ok()) return told(job);
      told(Fail(saved));
    });
  });
}

void Jobs::Pause(std::uint64_t id, Told told) {
  Command(id, &JobRun::Pause, std::move(told));
}

void Jobs::Resume(std::uint64_t id, Told told) {
  Command(id, &JobRun::Resume, std::move(told));
}

void Jobs::Cancel(std::uint64_t id, Told told) {
  Command(id, &JobRun::Cancel, std::move(told));
}

void Jobs::Forget(std::uint64_t id, Told told) {
  loop_->Post([this, id, told = std::move(told)] {
    const auto found = runs_.find(id);
    if (found == runs_.end()) return told(Fail(NoSuchJob(id)));
    const JobRun& run = *found->second.run;
    if (!Ended(run.job().state)) {
      return told(Fail(StatusCode::kConflict,
                       fmt::format("job {} is {}: cancel it first, or wait "
                                   "until it is done",
                                   id, JobStateName(run.job().state))));
    }
    if (run.at_work()) {
      return told(
          Fail(StatusCode::kConflict,
               fmt::format("job {} is {}, and objects that it had begun "
                           "with are still being changed: try again in "
                           "a moment",
                           id, JobStateName(run.job().state))));
    }
    const Job job = run.job();
    spdlog::info("job {} is forgotten", id);
    Remove(id, [job, told](const Status& removed) {
      if (removed.ok()) return told(job);
      told(Fail(removed));
    });
  });
}

void Jobs::Transition(std::string key, TransitionTarget target, Moved moved) {
  Status fits = CheckTarget(target);
  if (!fits.ok()) return moved(Fail(std::move(fits)));
  loop_->Post([this, key = std::move(key), target, moved = std::move(moved)] {
    if (host_->stopping) return moved(Fail(Stopping()));
    if (singles_ >= kMaxSingleTransitions) {
      return moved(Fail(StatusCode::kUnavailable,
                        fmt::format("{} transitions are under way, and no more "
                                    "are allowed: try again, or start a job",
                                    singles_)));
    }
    ++singles_;
    session_->Detach(TransitionHere(key, target, moved));
  });
}

Task<void> Jobs::TransitionHere(std::string key, TransitionTarget target,
                                Moved moved) {
  std::optional<Result<TransitionInfo>> result;
  {
    const ChangingKeys::Hold hold(changing_, key);
    result.emplace(
        co_await store_->Transition(key, target, TransitionVariant::kOptimal));
  }
  --singles_;
  LogLine(LogLevel::kInfo,
          fmt::format("transition of '{}', asked for over HTTP: {}", key,
                      *result ? "done" : (*result).error().message()));
  moved(*result);
}

}  // namespace ers::proxy
