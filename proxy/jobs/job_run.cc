#include "jobs/job_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "jobs/job_need.h"
#include "store/format/keys.h"
#include "store/support/wakeup.h"

namespace ers::proxy {
namespace {

using net::Task;
using std::chrono::milliseconds;

constexpr int kListTries = 5;
constexpr int kObjectTries = 3;
// Before the second try; doubled for each further one.
constexpr milliseconds kListNap(500);
constexpr milliseconds kObjectNap(100);
// A job that waits checks so often whether it is still to go on.
constexpr milliseconds kCheckEvery(50);
// Moved for a byte of a value, until the job's own objects show it.
constexpr double kFirstGuess = 2;

bool MayHelpToTryAgain(StatusCode code) {
  return code == StatusCode::kUnavailable ||
         code == StatusCode::kOutcomeUnknown || code == StatusCode::kNoMemory ||
         code == StatusCode::kConflict;
}

}  // namespace

Status Stopping() {
  return {StatusCode::kUnavailable,
          "the daemon is ending: try again when it is back"};
}

Task<void> Nap(net::Runtime& runtime, net::Duration duration) {
  const std::shared_ptr<store::Wakeup> nap = store::Wakeup::New(runtime);
  co_await nap->Wait(duration);
}

Task<Result<GetInfo>> ReadInfo(store::Store& store, const std::string& key) {
  Value none;
  store::ReadTerms terms;
  terms.no_bump = true;
  co_return co_await store.GetUpTo(key, 0, none, terms);
}

JobRun::JobRun(JobHost& host, JournalEntry entry)
    : host_(host),
      runtime_(host.session.runtime()),
      job_(std::move(entry.job)),
      limiter_(job_.spec.deletes ? job_.spec.objects_per_second
                                 : job_.spec.bytes_per_second,
               runtime_.Now()),
      lap_(runtime_.Now()) {
  job_.seconds_left.reset();
  if (!Ended(job_.state) && entry.listed) {
    before_ = std::move(entry);
    before_->job = job_;
    recovered_ = true;
  }
}

bool JobRun::Going() const {
  return !host_.stopping &&
         (job_.state == JobState::kListing || job_.state == JobState::kRunning);
}

void JobRun::Begin() {
  if (!Going() || at_work_) return;
  at_work_ = true;
  host_.session.Detach(Run());
}

Status JobRun::Pause() {
  if (Ended(job_.state)) {
    return {StatusCode::kConflict,
            fmt::format("job {} is {}: only a job that has not ended can be "
                        "paused",
                        job_.id, JobStateName(job_.state))};
  }
  if (job_.state != JobState::kPaused) SetState(JobState::kPaused);
  return {};
}

Status JobRun::Resume() {
  if (Ended(job_.state)) {
    return {StatusCode::kConflict,
            fmt::format("job {} is {}: only a paused one can be resumed; start "
                        "another",
                        job_.id, JobStateName(job_.state))};
  }
  if (job_.state == JobState::kPaused) {
    SetState(listed_ ? JobState::kRunning : JobState::kListing);
    Begin();
    BackfillLanes();
  }
  return {};
}

Status JobRun::Cancel() {
  if (job_.state == JobState::kCancelled) return {};
  if (Ended(job_.state)) {
    return {StatusCode::kConflict,
            fmt::format("job {} is {}: there is nothing left to cancel",
                        job_.id, JobStateName(job_.state))};
  }
  SetState(JobState::kCancelled);
  queue_.clear();
  packs_.Clear();
  return {};
}

void JobRun::Stop() {
  Tick();
  if (listing_ != nullptr) listing_->Stop();
}

void JobRun::SetState(JobState state) {
  Tick();
  job_.state = state;
  if (Ended(state)) job_.ended = runtime_.WallMicros() / kMicrosPerSecond;
  if (listing_ != nullptr && state != JobState::kListing) listing_->Stop();
  Report(/*state_changed=*/true);
}

void JobRun::Tick() {
  const net::TimePoint now = runtime_.Now();
  const double lap = std::chrono::duration<double>(now - lap_).count();
  lap_ = now;
  job_.seconds_left.reset();
  if (!Going()) return;
  job_.active_seconds += lap;
  if (job_.state != JobState::kRunning) return;
  running_seconds_ += lap;
  if (tried_ == 0) return;
  // By bytes, where the values have any.
  const bool by_bytes = tried_bytes_ > 0 && job_.bytes_left > 0;
  const auto done = static_cast<double>(by_bytes ? tried_bytes_ : tried_);
  const auto left =
      static_cast<double>(by_bytes ? job_.bytes_left : job_.counts.left);
  job_.seconds_left = running_seconds_ / done * left;
}

void JobRun::Report(bool state_changed) {
  Tick();
  host_.changed(job_, state_changed);
}

JournalEntry JobRun::Entry() const {
  JournalEntry entry;
  if (before_) {
    // What is counted still is of that time.
    entry = *before_;
  } else {
    entry.listed = listed_;
    // A name as changes have: the clock may stand still, and they rise.
    entry.saved_us =
        static_cast<std::int64_t>(host_.session.NewChangeId().time_us);
    entry.nonce = host_.session.maker();
    entry.under_way.assign(under_way_.begin(), under_way_.end());
  }
  entry.job = job_;
  return entry;
}

// --- Listing -----------------------------------------------------------------

void JobRun::TakeListed(const store::ListedObject& object, JobCounts& counts,
                        Status& status) {
  const store::Manifest& manifest = *object.manifest;
  const Selection& select = job_.spec.select;
  if (job_.spec.packs) {
    packs_.Note(object.manifest);
    if (!select.TakesKey(manifest.key)) return;
  }
  const Need need = NeedOfJob(job_.spec, host_.session, manifest);
  if (!select.TakesLength(manifest.length) || need == Need::kImpossible) return;
  // By the listing of the process before it was not there, or another value.
  if (job_.spec.deletes && before_ && IsNewer(job_, manifest)) return;
  if (select.in_blocks && manifest.is_inline) return;
  // By now what was changed before is neither idle nor old.
  if (need == Need::kNothing && before_) {
    if (ChangedBefore(*before_, manifest)) ++counts.changed;
    return;
  }
  if (!select.TakesTimes(object, host_.session.WallMicros())) return;
  std::optional<TransitionTarget> chosen;
  if (need == Need::kChange && host_.choose) chosen = host_.choose(object);
  if (need == Need::kNothing || (host_.choose && !chosen)) {
    ++counts.already;
    return;
  }
  if (queue_.size() + packs_.size() == kMaxJobObjects) {
    status = Status(StatusCode::kTooLarge,
                    fmt::format("more than {} objects are selected: select "
                                "fewer, by prefix",
                                kMaxJobObjects));
    return;
  }
  if (job_.spec.packs) return packs_.Add(manifest);
  queue_.push_back({manifest.key, manifest.length, chosen});
  ++counts.left;
  job_.bytes_left += manifest.length;
}

Task<Status> JobRun::ListOnce() {
  queue_.clear();
  job_.bytes_left = 0;
  JobCounts counts;
  if (before_) {
    counts = before_->job.counts;
    counts.failed = counts.kept = counts.left = 0;  // they are tried again
  }
  Status status;
  std::string unreadable;
  store::StopToken stop;
  store::ListTerms terms;
  terms.stop = &stop;
  // Any value may be in a pack.
  terms.wanted = [this](std::string_view key) {
    return job_.spec.packs || job_.spec.select.TakesKey(key);
  };
  terms.packs = !job_.spec.deletes;
  packs_.Clear();
  terms.unreadable = [&](std::string_view, const Status& why) {
    ++counts.failed;
    unreadable = why.message();
  };
  const std::function<bool(const store::ListedObject&)> visit =
      [&](const store::ListedObject& object) {
        TakeListed(object, counts, status);
        return status.ok();
      };
  listing_ = &stop;
  const Status listed = co_await host_.store.ListObjects(terms, visit);
  listing_ = nullptr;
  if (!listed.ok()) status = listed;
  if (stop.stopped()) status = Status(StatusCode::kConflict, "stopped");
  if (status.ok() && job_.spec.packs) {
    const std::function<bool()> going = [this] { return Going(); };
    co_await packs_.AddSparse(host_.store, host_.session, going,
                              kMaxJobObjects);
    if (!Going()) co_return Status(StatusCode::kConflict, "stopped");
    counts.left = packs_.size();
    job_.bytes_left = packs_.bytes();
  }
  if (!status.ok()) co_return status;
  job_.counts = counts;
  job_.last_error = unreadable;  // why an earlier try failed is past
  before_.reset();
  listed_ = true;
  running_seconds_ = 0;
  co_return Status();
}

// The servers may be about to start, as this process is.
Task<Status> JobRun::ListWithRetries() {
  Status status;
  milliseconds nap = kListNap;
  for (int tries = 0; Going();) {
    while (host_.listing && Going()) co_await Nap(runtime_, kCheckEvery);
    if (!Going()) break;
    host_.listing = true;
    status = co_await ListOnce();
    host_.listing = false;
    // Paused, and resumed meanwhile.
    if (status.code() == StatusCode::kConflict) continue;
    if (status.ok() || status.code() == StatusCode::kTooLarge) break;
    job_.last_error = status.message();
    Report(/*state_changed=*/false);
    if (++tries == kListTries) break;
    const net::TimePoint again = runtime_.Now() + nap;
    while (Going() && runtime_.Now() < again)
      co_await Nap(runtime_, kCheckEvery);
    nap *= 2;
  }
  co_return status;
}

// --- Changing ----------------------------------------------------------------

Task<void> JobRun::Run() {
  while (Going()) {
    if (!listed_) {
      if (job_.state != JobState::kListing) SetState(JobState::kListing);
      const Status status = co_await ListWithRetries();
      if (!Going()) break;
      if (!status.ok()) {
        job_.last_error = status.message();
        queue_.clear();
        SetState(JobState::kFailed);
        break;
      }
      SetState(JobState::kRunning);
      // What is changed from now on is kept apart from what was changed before
      // by what the journal says: not a change before that.
      net::Latch saved(runtime_, 1);
      host_.save(job_, [&saved] { saved.CountDown(); });
      co_await saved;
    }
    co_await WorkOff();
    if (Going() && AllTaken()) SetState(JobState::kDone);
  }
  at_work_ = false;
  Report(/*state_changed=*/true);
}

Task<void> JobRun::WorkOff() {
  net::Latch latch(runtime_);
  lanes_ = &latch;
  BackfillLanes();
  co_await latch;
  lanes_ = nullptr;
}

// Where the job works objects off: also those lanes that ended in a pause,
// while another one had something to finish.
void JobRun::BackfillLanes() {
  if (lanes_ == nullptr) return;
  for (int i = lanes_->count(); i < job_.spec.parallel; ++i) {
    lanes_->Add();
    net::Spawn(job_.spec.packs ? PackLane(*lanes_) : Lane(*lanes_));
  }
}

Task<void> JobRun::Lane(net::Latch& latch) {
  while (Going() && !queue_.empty()) {
    const Queued object = std::move(queue_.front());
    queue_.pop_front();
    const std::uint64_t estimate = Estimate(object.length);
    if (!co_await Admit(estimate)) {
      if (!Ended(job_.state)) queue_.push_front(object);
      break;
    }
    co_await Change(object, estimate);
  }
  latch.CountDown();
}

// A pack's values at a time. They give way to all other changes: no client has
// to wait for them.
Task<void> JobRun::PackLane(net::Latch& latch) {
  while (Going() && !packs_.empty()) {
    std::vector<ToPack> values = packs_.Take();
    std::uint64_t bytes = 0;
    for (const ToPack& value : values) bytes += value.length;
    if (!co_await Admit(2 * bytes)) {
      if (!Ended(job_.state)) packs_.PutBack(values);
      break;
    }
    const std::uint64_t count = values.size();
    CountPacked(co_await PackBatch(host_.store, job_.spec.select,
                                   std::move(values),
                                   host_.session.WallMicros()));
    tried_ += count;
    tried_bytes_ += bytes;
    if (Ended(job_.state)) break;
    job_.counts.left -= count;
    job_.bytes_left -= bytes;
    Report(/*state_changed=*/false);
  }
  latch.CountDown();
}

void JobRun::CountPacked(const PackOutcome& outcome) {
  job_.counts.changed += outcome.changed;
  job_.counts.already += outcome.already;
  job_.counts.gone += outcome.gone;
  job_.counts.failed += outcome.failed;
  job_.counts.kept += outcome.kept;
  if (outcome.failed > 0) job_.last_error = outcome.why.message();
  job_.bytes_read += outcome.bytes_read;
  job_.bytes_written += outcome.bytes_written;
  TransitionInfo info;
  info.bytes_read = outcome.bytes_read;
  info.bytes_written = outcome.bytes_written;
  for (std::uint64_t i = 0; i < outcome.changed; ++i) {
    host_.moved(info);
    info = TransitionInfo();
  }
}

// False: it is not to go on.
Task<bool> JobRun::Admit(std::uint64_t estimate) {
  while (Going()) {
    const net::Duration wait = limiter_.Take(estimate, runtime_.Now());
    if (wait.count() == 0) co_return true;
    co_await Nap(runtime_, std::min<net::Duration>(wait, kCheckEvery));
  }
  co_return false;
}

std::uint64_t JobRun::Estimate(std::uint64_t length) const {
  if (job_.spec.deletes) return 1;  // object
  const double each = changed_bytes_ == 0
                          ? kFirstGuess
                          : static_cast<double>(moved_bytes_) /
                                static_cast<double>(changed_bytes_);
  return static_cast<std::uint64_t>(each * static_cast<double>(length));
}

Task<Result<TransitionInfo>> JobRun::Move(const Queued& object) {
  if (job_.spec.deletes) {
    const Status deleted = co_await host_.store.Delete(object.key);
    if (!deleted.ok()) co_return Fail(deleted);
    co_return TransitionInfo();
  }
  const TransitionTarget target = object.chosen.value_or(job_.spec.target);
  // It may have waited for long, and be as wide by now as what was chosen.
  const Width width = target.width.value_or(Width::kWide);
  if (object.chosen && (width != Width::kWide || target.parity_blocks)) {
    const Result<GetInfo> now = co_await ReadInfo(host_.store, object.key);
    if (!now) co_return Fail(now.error());
    if (!HasWidth(now->scheme, width) ||
        StripeDataBlocks(now->scheme, now->width) >=
            StripeDataBlocks(now->scheme, width)) {
      co_return Fail(StatusCode::kAlreadyThere, "it was changed meanwhile");
    }
  }
  Result<TransitionInfo> moved = co_await host_.store.Transition(
      object.key, target, TransitionVariant::kOptimal);
  if (moved || moved.error().code() != StatusCode::kNotFound) co_return moved;
  const Result<store::ListedObject> now =
      co_await host_.store.ReadListed(object.key);
  const bool lost = now && now->manifest;  // and not gone
  co_return lost ? Fail(StatusCode::kCorruption, moved.error().message())
                 : std::move(moved);
}

Task<void> JobRun::Change(const Queued& object, std::uint64_t estimate) {
  const auto mine = under_way_.insert(object.key);
  std::optional<Result<TransitionInfo>> result;
  bool uncertain = recovered_;  // an earlier try may have come to be
  {
    const ChangingKeys::Hold hold(host_.changing, object.key);
    for (int i = 0; i < kObjectTries; ++i) {
      if (i > 0) co_await Nap(runtime_, kObjectNap * (1 << i));
      result.emplace(co_await Move(object));
      if (*result || !MayHelpToTryAgain(result->error().code())) break;
      uncertain |= result->error().code() == StatusCode::kOutcomeUnknown;
    }
  }
  under_way_.erase(mine);
  Count(*result, uncertain);
  if (*result && !job_.spec.deletes) {
    const std::uint64_t moved =
        (*result)->bytes_read + (*result)->bytes_written;
    limiter_.Correct(estimate, moved);
    moved_bytes_ += moved;
    changed_bytes_ += object.length;
  }
  ++tried_;
  tried_bytes_ += object.length;
  --job_.counts.left;
  job_.bytes_left -= object.length;
  Report(/*state_changed=*/false);
}

void JobRun::Count(const Result<TransitionInfo>& result, bool uncertain) {
  if (result) {
    ++job_.counts.changed;
    job_.bytes_read += result->bytes_read;
    job_.bytes_written += result->bytes_written;
    host_.moved(*result);
    return;
  }
  const StatusCode code = result.error().code();
  if (code == StatusCode::kAlreadyThere) {
    ++(uncertain ? job_.counts.changed : job_.counts.already);
  } else if (code == StatusCode::kNotFound || code == StatusCode::kNotManaged) {
    ++job_.counts.gone;
  } else {
    ++job_.counts.failed;
    job_.last_error = result.error().message();
  }
}

}  // namespace ers::proxy
