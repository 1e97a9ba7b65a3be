#include "jobs/jobs.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/mutex.h"
#include "store/membership/ensure_lease.h"
#include "store/upkeep/replace.h"

namespace ers::proxy {
namespace {

using net::Task;

// Between two checks of what is to be saved.
constexpr std::chrono::milliseconds kPeriod(500);
constexpr std::size_t kManifests = 1024;

}  // namespace

Jobs::Jobs(const ServerOptions& options,
           std::shared_ptr<store::ClusterState> cluster, ChangingKeys& changing,
           std::unique_ptr<Journal> journal)
    : options_(options),
      cluster_(std::move(cluster)),
      changing_(changing),
      servers_(static_cast<int>(cluster_->endpoints.size())),
      session_counters_(
          std::make_shared<store::SessionCounters>(cluster_->endpoints.size())),
      loop_(net::NewEventLoop()),
      table_(*loop_, std::move(journal)) {}

Jobs::~Jobs() = default;

Result<std::unique_ptr<Jobs>> Jobs::Open(
    const ServerOptions& options, std::shared_ptr<store::ClusterState> cluster,
    ChangingKeys& changing) {
  std::unique_ptr<Journal> journal;
  if (!options.state_dir.empty()) {
    Result<std::unique_ptr<Journal>> opened = Journal::Open(options.state_dir);
    if (!opened) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("{}: {}", options.PlaceOf("state_dir"),
                              opened.error().message()));
    }
    journal = std::move(*opened);
  }
  return std::unique_ptr<Jobs>(
      new Jobs(options, std::move(cluster), changing, std::move(journal)));
}

void Jobs::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Jobs::Stop() {
  loop_->Post([this] {
    host_->stopping = true;
    table_.Stop();
    policies_->Stop();
    backfiller_->Stop();
    garbage_->Stop();
    follower_->Stop();
  });
}

void Jobs::SetPolicies(const Policies& policies) {
  loop_->Post([this, policies] {
    if (host_->stopping) return;
    policies_->Set(policies);
    policy_watch_.Note(policies);
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
  return singles_ == 0 && server_checks_ == 0 && !replacing_ &&
         !table_.at_work() && !policies_->at_work() &&
         !backfiller_->at_work() && !garbage_->at_work() &&
         !follower_->at_work() && !memory_->at_work();
}

void Jobs::Loop() {
  session_ = std::make_unique<store::Session>(*loop_, cluster_, kManifests,
                                              session_counters_);
  store_ = std::make_unique<store::Store>(*session_, options_.client);
  const auto changed = [this](const Job& job, bool state_changed) {
    table_.OnChanged(job, state_changed);
  };
  const auto save = [this](const Job& job, std::function<void()> then) {
    table_.Save(job.id, [then = std::move(then)](const Status&) { then(); });
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
    memory_ = std::make_unique<MemoryWatch>(*host_);
  }
  policies_->Set(options_.policies);
  policy_watch_.Note(options_.policies);
  table_.Begin(*host_);
  timer_ = loop_->NewTimer([this] { OnTimer(); });
  heartbeat_timer_ = loop_->NewTimer([this] { OnHeartbeatTimer(); });
  timer_->Start({});  // the start waits for the first check
  loop_->RunUntil([this] { return ending_ && Quiet(); });
  timer_.reset();
  heartbeat_timer_.reset();
  table_.End();
  {
    const MutexLock lock(mutex_);
    policies_.reset();
    garbage_.reset();
    backfiller_.reset();
    follower_.reset();
    memory_.reset();
  }
  host_.reset();
  store_.reset();
  session_.reset();
}

// --- What others see ---------------------------------------------------------

JobTotals Jobs::totals() const {
  JobTotals totals = table_.totals();
  totals.changed = changed_;
  totals.bytes_read = bytes_read_;
  totals.bytes_written = bytes_written_;
  return totals;
}

PolicyCounts Jobs::policy_counts() const {
  const MutexLock lock(mutex_);
  return policies_ ? policies_->counts() : PolicyCounts();
}

Policies Jobs::policies() const {
  const MutexLock lock(mutex_);
  return policies_ ? policies_->in_force() : Policies();
}

void Jobs::CollectGarbage(GarbageRequest request,
                          GarbageCollector::Callback done) {
  loop_->Post([this, request, done = std::move(done)] {
    garbage_->Collect(request, done);
  });
}

void Jobs::Replace(Replacement replacement, Replaced done) {
  loop_->Post(
      [this, replacement = std::move(replacement), done = std::move(done)] {
        if (ending_) return done(Stopping());
        if (replacing_) {
          return done(Status(StatusCode::kConflict,
                             "a server is being replaced: wait until that is "
                             "done"));
        }
        replacing_ = true;
        session_->Detach(ReplaceHere(replacement, done));
      });
}

Task<void> Jobs::ReplaceHere(Replacement replacement, Replaced done) {
  const Status status = co_await store::ReplaceServer(
      *session_, replacement.old_server, replacement.new_server);
  replacing_ = false;
  done(status);
}

void Jobs::AskServers(Asked done) {
  loop_->Post([this, done = std::move(done)] {
    if (ending_) return done(Fail(Stopping()));
    if (server_checks_ >= kMaxServerChecks) {
      return done(Fail(StatusCode::kUnavailable,
                       "too many ask for the servers at a time: try again"));
    }
    ++server_checks_;
    session_->Detach(AskServersHere(done));
  });
}

Task<void> Jobs::AskServersHere(Asked done) {
  const Result<ClusterInfo> info = co_await store_->Servers();
  --server_checks_;
  done(info);
}

GarbageTotals Jobs::garbage_totals() const {
  const MutexLock lock(mutex_);
  return garbage_ ? garbage_->totals() : GarbageTotals();
}

BackfillState Jobs::backfill_state() const {
  const MutexLock lock(mutex_);
  return backfiller_ ? backfiller_->state() : BackfillState();
}

MemoryReports Jobs::memory_reports() const {
  const MutexLock lock(mutex_);
  return memory_ ? memory_->reports() : MemoryReports();
}

void Jobs::OnTimer() {
  table_.Tick();
  backfiller_->Scan();
  garbage_->Scan();
  follower_->Scan();
  memory_->Scan();
  view_watch_.Scan(*session_);
  policy_watch_.Scan(policies_->counts(), loop_->Now());
  OnHeartbeatTimer();
  timer_->Start(kPeriod);
}

// Of its own only while there is something to do.
void Jobs::OnHeartbeatTimer() {
  if (session_->view()) store::GiveHeartbeat(*session_);
  const net::Duration every = cluster_->lease.HeartbeatEvery(loop_->Now());
  if (every < kPeriod) heartbeat_timer_->Start(every);
}

// --- Commands ----------------------------------------------------------------

Status Jobs::CheckTarget(const TransitionTarget& target) const {
  if (target.parity_blocks.value_or(0) > options_.cluster.max_failures) {
    return {StatusCode::kInvalidArgument,
            fmt::format("to: {} parity blocks: max_failures is {}; choose a "
                        "smaller m",
                        *target.parity_blocks, options_.cluster.max_failures)};
  }
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

void Jobs::Create(JobSpec spec, Callback done) {
  Status fits = CheckTarget(spec.target);
  if (spec.deletes && !options_.warm_from.servers.empty()) {
    fits = Status(StatusCode::kInvalidArgument,
                  "to: values that are deleted would come back from the old "
                  "pool: take warm_from out of the settings first");
  }
  if (!fits.ok()) return done(Fail(std::move(fits)));
  loop_->Post([this, spec = std::move(spec), done = std::move(done)] {
    table_.Create(spec, done);
  });
}

void Jobs::Command(std::uint64_t id, Status (JobRun::*command)(),
                   Callback done) {
  loop_->Post([this, id, command, done = std::move(done)] {
    table_.Command(id, command, done);
  });
}

void Jobs::Pause(std::uint64_t id, Callback done) {
  Command(id, &JobRun::Pause, std::move(done));
}

void Jobs::Resume(std::uint64_t id, Callback done) {
  Command(id, &JobRun::Resume, std::move(done));
}

void Jobs::Cancel(std::uint64_t id, Callback done) {
  Command(id, &JobRun::Cancel, std::move(done));
}

void Jobs::Forget(std::uint64_t id, Callback done) {
  loop_->Post([this, id, done = std::move(done)] { table_.Forget(id, done); });
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
  moved(*result);
}

}  // namespace ers::proxy
