#include "jobs/backfiller.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "base/mutex.h"
#include "metrics/event_log.h"
#include "shared/plain_text.h"
#include "store/membership/serving.h"
#include "store/membership/view_probe.h"

namespace ers::proxy {

using net::Task;

namespace {

// What cannot be backfilled as others are silent is not listed again and again.
constexpr net::Duration kMinPause = std::chrono::seconds(1);
constexpr net::Duration kMaxPause = std::chrono::seconds(10);
// Between two lines on how far a backfilling is, or what is in its way.
constexpr net::Duration kLogEvery = std::chrono::seconds(30);

}  // namespace

Backfiller::Backfiller(JobHost& host, const BackfillLimits& limits)
    : host_(host),
      limits_(limits),
      pace_(host.session.runtime(), limits.bytes_per_second) {
  state_.bytes_per_second = limits.bytes_per_second;
}

void Backfiller::SetLimits(const BackfillLimits& limits) {
  limits_ = limits;
  if (limits.bytes_per_second != pace_.rate()) {
    pace_.SetRate(limits.bytes_per_second);
  }
  const MutexLock lock(mutex_);
  state_.bytes_per_second = limits.bytes_per_second;
}

BackfillState Backfiller::state() const {
  const MutexLock lock(mutex_);
  BackfillState state = state_;
  state.repaired = counters_.repaired.Get();
  state.lost = counters_.lost.Get();
  state.blocks = counters_.blocks.Get();
  state.bytes_read = counters_.bytes_read.Get();
  state.bytes_written = counters_.bytes_written.Get();
  return state;
}

// Also in the log, where a walk takes long.
void Backfiller::OnProgress(const store::BackfillProgress& progress) {
  const net::TimePoint now = host_.session.runtime().Now();
  const double left = progress.SecondsLeft(now);
  if (progress.walk > 0 && now - logged_ >= kLogEvery) {
    logged_ = now;
    spdlog::info("backfilling: walk {}, {} of {} objects, about {:.0f} s left",
                 progress.walk, progress.objects, progress.total, left);
  }
  progress_ = progress;
  const MutexLock lock(mutex_);
  state_.servers.clear();
  for (const int member : progress.members) {
    state_.servers.push_back(host_.session.member_name(member));
  }
  state_.walk = progress.walk;
  state_.objects = progress.objects;
  state_.total = progress.total;
  state_.seconds_left = left;
}

void Backfiller::Scan() {
  const net::TimePoint now = host_.session.runtime().Now();
  if (host_.stopping) return;
  {
    // Short objects end first, and behind them nothing may for long.
    const MutexLock lock(mutex_);
    state_.seconds_left = progress_.SecondsLeft(now);
  }
  if (filling_ && !scanning_beside_) {
    scanning_beside_ = true;
    net::Spawn(ScanBeside());
  }
  if (at_work_ || now < not_before_) return;
  at_work_ = true;
  net::Spawn(Work());
}

void Backfiller::Stop() { stop_.Stop(); }

// Each return has to be seen.
void Backfiller::NoteReturns() {
  const std::shared_ptr<const store::View> view = host_.session.view();
  if (view) damped_.Note(*view, host_.session.runtime().Now());
}

// Also takes the view that is there: a process before this one may have left a
// member half backfilled. A cluster that was never used yet is none of a
// backfiller's.
Task<void> Backfiller::CheckServing() {
  const Status serves = co_await store::CheckServing(host_.session);
  if (host_.checked) host_.checked(serves);
}

Task<void> Backfiller::Work() {
  unfinished_ = false;
  const net::TimePoint begun = host_.session.runtime().Now();
  co_await CheckServing();
  if (host_.session.view()) co_await FillAll();
  const net::TimePoint now = host_.session.runtime().Now();
  // What does not fit is walked for again half of the time, at most.
  pause_ = unfinished_ ? std::max(std::clamp(2 * pause_, kMinPause, kMaxPause),
                                  now - begun)
                       : net::Duration();
  not_before_ = now + pause_;
  at_work_ = false;
}

// A backfilling may take hours, and nothing else asks servers for what they
// must not evict.
Task<void> Backfiller::ScanBeside() {
  co_await store::MissRestarted(host_.session, &slow_);
  co_await CheckServing();
  NoteReturns();
  scanning_beside_ = false;
}

Task<void> Backfiller::FillAll() {
  store::Session& session = host_.session;
  co_await store::MissRestarted(session, &slow_);
  NoteReturns();
  Status status;
  if (!session.view()->AllInSync() && !host_.stopping) {
    status = co_await Fill();
  }
  const auto tolerated = store::WithoutSilent(session, session.view());
  Report(tolerated ? status : tolerated.error());
}

// All at once: an object is decoded once for all that lost its blocks.
// A failure says why a member that is back is not in sync; the view says which
// are dead.
Task<Status> Backfiller::Fill() {
  store::BackfillTerms terms;
  terms.parallel = limits_.parallel;
  terms.slice_keys = limits_.slice_keys;
  terms.stop = &stop_;
  terms.pace = &pace_;
  terms.counters = &counters_;
  terms.damped = &damped_;
  terms.slow = &slow_;
  terms.progress = [this](const store::BackfillProgress& progress) {
    OnProgress(progress);
  };
  logged_ = host_.session.runtime().Now();
  const std::vector<int> all;
  filling_ = true;
  const Result<store::BackfillReport> report =
      co_await store::Backfill(host_.session, all, terms);
  filling_ = false;
  if (report) {
    for (const int member : report->members) {
      EventLog::OfProcess().Add(
          EventKind::kServer,
          report->lost > 0 ? LogLevel::kWarning : LogLevel::kInfo,
          fmt::format("{} is backfilled: {} of {}; {} lost",
                      host_.session.member_name(member),
                      CountText(report->blocks, "block"),
                      CountText(report->objects, "object"),
                      CountIsText(report->lost, "object")));
    }
  }
  // Those are tried again, and the view says that they are out.
  for (const store::Member& member : host_.session.view()->members) {
    unfinished_ |= member.shown_state() == MemberState::kBackfilling;
  }
  co_return report || !unfinished_ ? Status() : report.error();
}

void Backfiller::Report(const Status& status) {
  if (host_.stopping) return;
  std::string before(status.message());
  {
    const MutexLock lock(mutex_);
    if (state_.last_error == before) return;
    std::swap(state_.last_error, before);
  }
  const net::TimePoint now = host_.session.runtime().Now();
  if (status.ok()) {
    spdlog::info("over by now: {}", before);
  } else if (before.empty() || now - complained_ >= kLogEvery) {
    // What stands in the way may be another object each time.
    complained_ = now;
    spdlog::error("{}", status.message());
  }
}

}  // namespace ers::proxy
