#include "jobs/policy_scan.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <functional>
#include <utility>

#include "base/micros.h"

namespace ers::proxy {
namespace {

// One that ends is waited for so long at a time.
constexpr std::chrono::milliseconds kEndsWithin(50);

}  // namespace

PolicyScan::PolicyScan(const JobHost& jobs, PolicyKind kind,
                       PolicyLedger& ledger)
    : kind_(kind),
      ledger_(ledger),
      host_(jobs),
      timer_(jobs.session.runtime().NewTimer([this] { Scan(); })) {
  host_.changed = [this](const Job& job, bool) { CountScanned(job); };
  host_.save = [](const Job&, const std::function<void()>& then) { then(); };
  host_.moved = [this](const TransitionInfo& info) {
    ledger_.CountMoved(kind_, info);
  };
}

void PolicyScan::Set(std::optional<Terms> terms) {
  End();
  timer_->Stop();
  terms_ = std::move(terms);
  if (terms_) timer_->Start(net::Duration(0));
}

void PolicyScan::Stop() {
  timer_->Stop();
  host_.stopping = true;
  if (run_) run_->Stop();
}

// What was cold at one search may be read by the next.
void PolicyScan::Scan() {
  timer_->Start(std::chrono::seconds(terms_->every_seconds));
  if (at_work()) {
    if (run_->job().state == JobState::kListing) return;
    End();
    // It ends what it has begun first.
    timer_->Start(kEndsWithin);
    return;
  }
  if (run_ && run_->job().state == JobState::kCancelled) {
    ledger_.Count(kind_, PolicyOutcome::kSkipped, run_->job().counts.left);
  }
  JournalEntry entry;
  entry.job.spec = terms_->spec;
  counted_ = {};
  run_ = std::make_unique<JobRun>(host_, std::move(entry));
  run_->Begin();
}

void PolicyScan::End() {
  // Fails where it has ended.
  if (run_) (void)run_->Cancel();
}

void PolicyScan::CountScanned(const Job& job) {
  ledger_.Count(kind_, PolicyOutcome::kChanged,
                job.counts.changed - counted_.changed);
  ledger_.Count(kind_, PolicyOutcome::kFailed,
                job.counts.failed - counted_.failed);
  counted_ = job.counts;
  ledger_.SetWaiting(kind_, Ended(job.state) ? 0 : job.counts.left);
  if (job.state == JobState::kFailed) {
    spdlog::warn("cold objects cannot be searched for: {}", job.last_error);
  }
  if (job.state == JobState::kDone) {
    ledger_.NoteScan(host_.session.runtime().WallMicros() / kMicrosPerSecond);
  }
}

}  // namespace ers::proxy
