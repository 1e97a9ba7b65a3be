#include "jobs/garbage_collector.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/micros.h"
#include "base/mutex.h"
#include "jobs/json_fields.h"
#include "metrics/event_log.h"
#include "store/upkeep/ended_objects.h"

namespace ers::proxy {

using net::Task;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds kFirstScan(60);
// How long an object has ended before what is left of it is dropped.
constexpr std::int64_t kEndingSeconds = 3;
// For memory: objects at a time, and the most between two collections, which
// take no more than a fifth of the time besides.
constexpr int kManyAtOnce = 64;
constexpr std::chrono::seconds kLongestNap(60);
constexpr int kNapsPerTime = 4;
constexpr std::uint64_t kMaxObjectsPerSecond = 1'000'000'000;
constexpr double kMaxGraceSeconds = 86400.0 * 365;

void Log(const Result<GarbageReport>& report) {
  if (!report) {
    spdlog::warn("garbage is not collected: {}", report.error().message());
  } else if (!report->why.ok()) {
    spdlog::warn(
        "blocks may be garbage, {} of them seen, and are left until that is "
        "known: {}",
        report->skipped, report->why.message());
  }
}

}  // namespace

Result<GarbageRequest> ParseGarbageRequest(std::string_view text) {
  const Result<nlohmann::json> value = ParseJson(text.empty() ? "{}" : text);
  if (!value) return Fail(value.error());
  JsonFields fields(*value, "");
  GarbageRequest request;
  if (fields.Has("grace_s")) {
    double seconds = 0;
    fields.Real("grace_s", seconds);
    if (seconds < 0 || seconds > kMaxGraceSeconds) {
      fields.Refuse("grace_s", "it must be from 0 to a year");
    } else {
      request.grace = milliseconds(std::llround(seconds * 1000));
    }
  }
  if (fields.Has("objects_per_second")) {
    fields.Number("objects_per_second", 0, kMaxObjectsPerSecond,
                  request.objects_per_second.emplace());
  }
  fields.Flag("dry_run", request.dry_run);
  Status status = fields.Finish();
  if (!status.ok()) return Fail(std::move(status));
  return request;
}

GarbageCollector::GarbageCollector(JobHost& host,
                                   const GarbageSettings& settings)
    : host_(host),
      settings_(settings),
      next_(host.session.runtime().Now() +
            std::min(settings.every, kFirstScan)) {
  host_.session.cluster().needs.Serve(settings.every.count() > 0);
}

void GarbageCollector::Scan() {
  CheckForEnded();
  // A cluster that was never used yet has none, and stays so.
  if (at_work_ || host_.stopping || !host_.session.view()) return;
  const bool due =
      settings_.every.count() > 0 && host_.session.runtime().Now() >= next_;
  if (!due) {
    if (MemoryIsWanted()) CollectForMemory();
    return;
  }
  Collect({}, Log);
}

GarbageCollector::Flush GarbageCollector::LastFlush() {
  const store::View& view = *host_.session.view();
  const auto now = static_cast<std::uint64_t>(host_.session.WallMicros());
  Flush last{view.flush_mark, 0};
  if (view.flushed_before <= now) last.second = view.flushed_before;
  for (const std::uint64_t flush : view.flush_at) {
    if (flush <= now) last.second = std::max(last.second, flush);
  }
  return last;
}

void GarbageCollector::CheckForEnded() {
  if (dropping_ || host_.stopping || !host_.session.view()) return;
  const std::int64_t now = host_.session.WallMicros() / kMicrosPerSecond;
  std::vector<std::string> keys =
      host_.session.cluster().needs.TakeEnded(now - kEndingSeconds);
  if (keys.empty()) return;
  dropping_ = true;
  net::Spawn(DropEnded(std::move(keys)));
}

Task<void> GarbageCollector::DropEnded(std::vector<std::string> keys) {
  co_await store::DropEndedObjects(host_.session, std::move(keys));
  dropping_ = false;
}

// What this process was refused no other one knows of: it checks even where
// others are the ones that check from time to time.
bool GarbageCollector::MemoryIsWanted() {
  const net::TimePoint now = host_.session.runtime().Now();
  const bool flushed = settings_.every.count() > 0 && now >= next_for_flush_ &&
                       LastFlush() != flush_seen_;
  const bool short_of_it =
      now >= next_for_memory_ &&
      host_.session.cluster().needs.shortages() != shortages_seen_;
  return flushed || short_of_it;
}

void GarbageCollector::CollectForMemory() {
  GarbageOptions options;
  options.grace = settings_.grace;
  const net::TimePoint begun = host_.session.runtime().Now();
  const auto done = [this, begun](const Result<GarbageReport>& report) {
    const net::TimePoint now = host_.session.runtime().Now();
    const bool freed = report && (report->dropped > 0 || report->flushed > 0);
    nap_ = freed ? net::Duration(kShortestNap)
                 : std::min<net::Duration>(2 * nap_, kLongestNap);
    next_for_memory_ = now + std::max(nap_, kNapsPerTime * (now - begun));
    Log(report);
  };
  Begin(options, kManyAtOnce, done);
}

void GarbageCollector::Collect(const GarbageRequest& request, Callback done) {
  if (at_work_) {
    return done(Fail(StatusCode::kConflict,
                     "garbage is being collected: wait until that is done"));
  }
  if (host_.stopping) return done(Fail(Stopping()));
  GarbageOptions options;
  options.grace = request.grace.value_or(settings_.grace);
  options.dry_run = request.dry_run;
  options.objects_per_second =
      request.objects_per_second.value_or(settings_.objects_per_second);
  Begin(options, store::GarbageTerms().parallel, std::move(done));
}

void GarbageCollector::Begin(const GarbageOptions& options, int parallel,
                             Callback done) {
  at_work_ = true;
  if (!options.dry_run) {
    shortages_seen_ = host_.session.cluster().needs.shortages();
    if (host_.session.view()) flush_seen_ = LastFlush();
  }
  store::GarbageTerms terms;
  terms.options = options;
  terms.parallel = parallel;
  terms.stop = &stop_;
  net::Spawn(Work(terms, std::move(done)));
}

Task<void> GarbageCollector::Work(store::GarbageTerms terms, Callback done) {
  const Flush flush = flush_seen_;
  terms.small_values = terms.options.dry_run || flush != flush_done_;
  const Result<GarbageReport> report =
      co_await store::CollectGarbage(host_.session, terms);
  if (report && !terms.options.dry_run) {
    Count(*report);
    if (report->why.ok()) flush_done_ = flush;
  }
  const net::TimePoint now = host_.session.runtime().Now();
  next_ = now + settings_.every;
  next_for_flush_ = now + kShortestNap;
  const bool again = host_.session.view() && LastFlush() != flush_seen_;
  if (!again) host_.session.cluster().needs.NoteGivenBack();
  at_work_ = false;
  done(report);
}

void GarbageCollector::Count(const GarbageReport& report) {
  if (report.dropped > 0 || report.flushed > 0) {
    EventLog::OfProcess().Add(
        EventKind::kGarbage, LogLevel::kInfo,
        fmt::format("garbage is collected: {} of {} blocks, {} bytes; {} "
                    "objects had ended",
                    report.dropped, report.listed, report.dropped_bytes,
                    report.flushed));
  }
  const MutexLock lock(mutex_);
  ++totals_.collections;
  totals_.dropped += report.dropped;
  totals_.dropped_bytes += report.dropped_bytes;
  totals_.last = report;
  totals_.ended = host_.session.runtime().WallMicros() / kMicrosPerSecond;
}

GarbageTotals GarbageCollector::totals() const {
  const MutexLock lock(mutex_);
  return totals_;
}

}  // namespace ers::proxy
