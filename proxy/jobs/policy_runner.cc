#include "jobs/policy_runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/micros.h"
#include "base/mutex.h"
#include "jobs/tiers.h"
#include "store/format/keys.h"

namespace ers::proxy {
namespace {

using net::Task;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kHitKeys = 65536;
constexpr std::size_t kMaxWaiting = 4096;
// Moved for a byte of a value that is made narrow, before it is known.
constexpr std::uint64_t kGuess = 2;
// A wait for the rate checks so often whether to go on.
constexpr milliseconds kLookEvery(50);

}  // namespace

PolicyRunner::PolicyRunner(JobHost& jobs)
    : jobs_(jobs),
      runtime_(jobs.session.runtime()),
      widen_(jobs, PolicyKind::kWiden, ledger_),
      pack_(jobs, PolicyKind::kPack, ledger_) {
  widen_.host().choose = [this](const store::ListedObject& object) {
    const std::int64_t idle_s = IdleSeconds(object, jobs_.session.WallMicros());
    std::optional<TransitionTarget> target = TierTarget(
        policies_.widen.tiers, object.manifest->scheme, object.manifest->width,
        static_cast<std::uint64_t>(std::max<std::int64_t>(idle_s, 0)),
        TierDirection::kWider);
    // A pack is idle while its values are not: they keep their parity.
    const bool is_pack = store::IsPackKey(object.manifest->key);
    if (target && is_pack) target->parity_blocks.reset();
    return target;
  };
}

Policies PolicyRunner::in_force() const {
  const MutexLock lock(mutex_);
  return shown_;
}

// What stays as it is goes on: where settings are read again more often than a
// scan takes, it would never come to its end.
void PolicyRunner::Set(const Policies& policies) {
  const bool leave_alone_stays =
      policies.leave_alone_seconds == policies_.leave_alone_seconds;
  const bool widen_stays =
      policies.widen == policies_.widen && leave_alone_stays;
  const bool pack_stays = policies.pack == policies_.pack && leave_alone_stays;
  const bool narrow_stays = policies.narrow == policies_.narrow;
  policies_ = policies;
  {
    const MutexLock lock(mutex_);
    shown_ = policies;
  }
  if (!widen_stays) SetWiden();
  if (!pack_stays) SetPack();
  if (!narrow_stays) SetNarrow();
}

void PolicyRunner::SetWiden() {
  const WidenPolicy& widen = policies_.widen;
  if (widen.tiers.empty()) return widen_.Set(std::nullopt);
  PolicyScan::Terms terms;
  terms.every_seconds = widen.every_seconds;
  JobSpec& spec = terms.spec;
  spec.target.width = Width::kWide;  // what is there cannot become wider
  spec.select.min_bytes = widen.min_bytes;
  spec.select.in_blocks = true;
  spec.select.idle_seconds =
      static_cast<std::int64_t>(widen.tiers.front().from);
  TakePace(widen, spec);
  widen_.Set(std::move(terms));
}

void PolicyRunner::SetPack() {
  const PackPolicy& pack = policies_.pack;
  if (pack.idle_seconds == 0) return pack_.Set(std::nullopt);
  PolicyScan::Terms terms;
  terms.every_seconds = pack.every_seconds;
  JobSpec& spec = terms.spec;
  spec.to = kPackTarget;
  spec.packs = true;
  spec.select.idle_seconds = static_cast<std::int64_t>(pack.idle_seconds);
  TakePace(pack, spec);
  pack_.Set(std::move(terms));
}

void PolicyRunner::TakePace(const PolicyPace& pace, JobSpec& spec) const {
  spec.select.prefix = pace.prefix;
  spec.select.age_seconds = policies_.leave_alone_seconds;
  spec.parallel = pace.parallel;
  spec.bytes_per_second = pace.bytes_per_second;
}

void PolicyRunner::SetNarrow() {
  window_.reset();
  for (const std::string& key : hot_) hot_keys_.erase(key);
  hot_.clear();
  ledger_.SetWaiting(PolicyKind::kNarrow, 0);
  if (!policies_.narrow.tiers.empty()) {
    std::vector<std::uint64_t> levels;
    for (const Tier& tier : policies_.narrow.tiers) levels.push_back(tier.from);
    window_.emplace(std::move(levels), seconds(policies_.narrow.within_seconds),
                    kHitKeys);
  }
  limiter_.emplace(policies_.narrow.bytes_per_second, runtime_.Now());
}

void PolicyRunner::Stop() {
  widen_.Stop();
  pack_.Stop();
  hot_.clear();
}

bool PolicyRunner::at_work() const {
  return lanes_ > 0 || widen_.at_work() || pack_.at_work();
}

// --- Narrow ------------------------------------------------------------------

void PolicyRunner::TakeHits(const HitBatch& hits) {
  if (!window_ || jobs_.stopping) return;
  for (const auto& [key, count] : hits) {
    if (!key.starts_with(policies_.narrow.prefix)) continue;
    const std::uint64_t all = window_->Add(key, count, runtime_.Now());
    if (all > 0) Narrow(key, all);
  }
}

void PolicyRunner::Narrow(const std::string& key, std::uint64_t hits) {
  const auto waiting = hot_keys_.find(key);
  if (waiting != hot_keys_.end()) {
    // It may come to a further tier before its turn does.
    waiting->second = std::max(waiting->second, hits);
    return;
  }
  if (hot_.size() >= kMaxWaiting) {
    ledger_.Count(PolicyKind::kNarrow, PolicyOutcome::kSkipped);
    return;
  }
  hot_keys_.emplace(key, hits);
  hot_.push_back(key);
  ledger_.SetWaiting(PolicyKind::kNarrow, hot_.size());
  if (lanes_ < policies_.narrow.parallel) {
    ++lanes_;
    jobs_.session.Detach(NarrowLane());
  }
}

Task<void> PolicyRunner::NarrowLane() {
  while (!hot_.empty() && !jobs_.stopping) {
    const std::string key = std::move(hot_.front());
    hot_.pop_front();
    ledger_.SetWaiting(PolicyKind::kNarrow, hot_.size());
    co_await NarrowOne(key);
    hot_keys_.erase(key);
  }
  --lanes_;
}

// nullopt: it stays as it is, for now.
Task<std::optional<PolicyRunner::Narrower>> PolicyRunner::Choose(
    const std::string& key) {
  const Result<GetInfo> info = co_await ReadInfo(jobs_.store, key);
  const auto now = jobs_.session.manifests().Find(key);
  // It is gone, or has no blocks by now.
  if (!info || !now) co_return std::nullopt;
  const std::optional<TransitionTarget> target =
      TierTarget(policies_.narrow.tiers, now->scheme, now->width,
                 hot_keys_.at(key), TierDirection::kNarrower);
  // Another change was first, or it is there.
  if (!target) co_return std::nullopt;
  const std::int64_t age_us =
      jobs_.session.WallMicros() - static_cast<std::int64_t>(now->id.time_us);
  if (age_us < policies_.leave_alone_seconds * kMicrosPerSecond) {
    ledger_.Count(PolicyKind::kNarrow, PolicyOutcome::kRecent);
    co_return std::nullopt;
  }
  co_return Narrower{*target, now->length};
}

Task<void> PolicyRunner::NarrowOne(const std::string& key) {
  std::optional<Narrower> to = co_await Choose(key);
  if (!to) co_return;
  const std::uint64_t estimate = kGuess * to->length;
  if (!co_await Admit(estimate)) co_return;
  // It may have waited for long, and be narrower by now than what was chosen.
  if (to->target.width != Width::kNarrow || to->target.parity_blocks) {
    to = co_await Choose(key);
  }
  if (!to) {
    limiter_->Correct(estimate, 0);
    co_return;
  }
  const ChangingKeys::Hold hold(jobs_.changing, key);
  const Result<TransitionInfo> moved = co_await jobs_.store.Transition(
      key, to->target, TransitionVariant::kOptimal);
  if (moved) {
    limiter_->Correct(estimate, moved->bytes_read + moved->bytes_written);
    ledger_.CountMoved(PolicyKind::kNarrow, *moved);
    ledger_.Count(PolicyKind::kNarrow, PolicyOutcome::kChanged);
  } else if (moved.error().code() != StatusCode::kAlreadyThere &&
             moved.error().code() != StatusCode::kNotFound) {
    ledger_.Count(PolicyKind::kNarrow, PolicyOutcome::kFailed);
  }
}

// False: the host is stopping, or the policy is off.
Task<bool> PolicyRunner::Admit(std::uint64_t bytes) {
  while (!jobs_.stopping && !policies_.narrow.tiers.empty()) {
    const net::Duration wait = limiter_->Take(bytes, runtime_.Now());
    if (wait.count() == 0) co_return true;
    co_await Nap(runtime_, std::min<net::Duration>(wait, kLookEvery));
  }
  co_return false;
}

}  // namespace ers::proxy
