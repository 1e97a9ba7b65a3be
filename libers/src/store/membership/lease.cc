#include "store/membership/lease.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

// Between two readings of all others' entries. So one that was killed is known
// to be gone before the view has to change, mostly; all processes together read
// no more for each than a few a second.
constexpr net::Duration kTakeOffGoneEvery = std::chrono::seconds(5);
constexpr net::Duration kLaterForEach = std::chrono::milliseconds(600);

net::Duration::rep Ticks(net::TimePoint time) {
  return time.time_since_epoch().count();
}

}  // namespace

std::string OwnProcessLabel() {
  std::array<char, 256> host{};
  // Cut off where it is longer; the last byte stays.
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"?"};
  return fmt::format("process {} on {}", getpid(), host.data());
}

bool Lease::Holds(net::TimePoint now) const {
  const auto until = until_.load();
  if (Planted(PlantedBug::kEndlessLease) && until != 0) return true;
  return Ticks(now) < until;
}

const std::atomic<net::Duration::rep>* Lease::leaves_before() const {
  return Planted(PlantedBug::kEndlessLease) ? nullptr : &until_;
}

// Not each time: threads share it.
void Lease::NoteCall(net::TimePoint now) {
  constexpr net::Duration kOften = std::chrono::milliseconds(50);
  if (Ticks(now) - last_call_.load() < kOften.count()) return;
  last_call_.store(Ticks(now));
}

bool Lease::Rests(net::TimePoint now) const {
  return net::Duration(Ticks(now) - last_call_.load()) >= kRestsAfter;
}

net::Duration Lease::HeartbeatEvery(net::TimePoint now) const {
  return Rests(now) ? kRestingHeartbeatEvery : kHeartbeatEvery;
}

bool Lease::TakeHeartbeat(net::TimePoint now) {
  net::Duration::rep due = next_heartbeat_.load();
  return Ticks(now) >= due && next_heartbeat_.compare_exchange_strong(
                                  due, Ticks(now + HeartbeatEvery(now)));
}

bool Lease::BeginPlacing(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  if (placing_) {
    if (wake) waiters_.push_back(std::move(wake));
    return false;
  }
  placing_ = true;
  return true;
}

void Lease::EndPlacing() {
  std::vector<std::function<void()>> waiters;
  {
    const MutexLock lock(mutex_);
    placing_ = false;
    waiters.swap(waiters_);
  }
  for (const auto& wake : waiters) wake();
}

void Lease::RaiseEpoch(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  own_.terms.epoch = std::max(own_.terms.epoch, epoch);
  until_.store(0);
}

Participant Lease::Self(std::uint64_t random) {
  const MutexLock lock(mutex_);
  if (self_.id == 0) self_.id = std::max<std::uint64_t>(1, random);
  own_.id = self_.id;
  return self_;
}

EntryTerms Lease::TermsOfEntry(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  own_.terms.epoch = std::max(own_.terms.epoch, epoch);
  return own_.terms;
}

// Two round trips begin a lease again, and it has to last for what comes then.
void Lease::ChooseTerm(net::Duration took) {
  constexpr net::Duration kLong = kLeaseFor / 5;
  const MutexLock lock(mutex_);
  if (took >= kLong) own_.terms.lease_for = kLongLeaseFor;
  if (took < kLong / 2) own_.terms.lease_for = kLeaseFor;
}

net::Duration Lease::term() const {
  const MutexLock lock(mutex_);
  return own_.terms.lease_for;
}

Entry Lease::NextEntry(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  own_.terms.epoch = std::max(own_.terms.epoch, epoch);
  ++own_.count;
  Entry entry = own_;
  if (Planted(PlantedBug::kLongLeaseUnsaid)) entry.terms.lease_for = kLeaseFor;
  return entry;
}

void Lease::Leave() {
  const MutexLock lock(mutex_);
  until_.store(0);
}

bool Lease::HasEntry() const {
  const MutexLock lock(mutex_);
  return self_.id != 0;
}

void Lease::Observe(int member, std::uint64_t id, const EntryVersion& version,
                    net::TimePoint now) {
  const MutexLock lock(mutex_);
  Seen& seen = seen_[id];
  const auto [known, first] = seen.versions.try_emplace(member, version);
  if (!first && known->second == version) return;
  known->second = version;
  seen.at = now;
}

bool Lease::IsGone(std::uint64_t id, net::TimePoint asked,
                   net::Duration least) const {
  const MutexLock lock(mutex_);
  const auto seen = seen_.find(id);
  if (seen == seen_.end()) return false;
  net::Duration wait = least;
  for (const auto& [member, version] : seen->second.versions) {
    wait = std::max(wait, version.lease_for + kLandsWithin);
  }
  if (Planted(PlantedBug::kEntryNotWaited)) wait = net::Duration(1);
  if (Planted(PlantedBug::kGoneWithLease)) wait -= kLandsWithin;
  return asked - seen->second.at >= wait;
}

bool Lease::TakeTurnForGone(net::TimePoint now) {
  const MutexLock lock(mutex_);
  if (now < gone_turn_) return false;
  gone_turn_ =
      now + kTakeOffGoneEvery + static_cast<int>(seen_.size()) * kLaterForEach;
  return true;
}

std::size_t Lease::TakeTurn(std::size_t members) {
  const MutexLock lock(mutex_);
  return std::exchange(next_member_, next_member_ + members);
}

void Lease::BeginAsking(int member) {
  const MutexLock lock(mutex_);
  ++asked_[member];
}

void Lease::EndAsking(int member) {
  const MutexLock lock(mutex_);
  --asked_[member];
}

bool Lease::IsAsked(int member) const {
  const MutexLock lock(mutex_);
  const auto asked = asked_.find(member);
  return asked != asked_.end() && asked->second > 0;
}

void Lease::ForgetOthers(const std::vector<std::uint64_t>& listed) {
  const MutexLock lock(mutex_);
  std::erase_if(seen_, [&listed](const auto& one) {
    return std::find(listed.begin(), listed.end(), one.first) == listed.end();
  });
}

void Lease::Shown(int member, net::TimePoint sent) {
  const MutexLock lock(mutex_);
  net::TimePoint& last = shown_[member];
  last = std::max(last, sent);
}

void Lease::Renewed(int member, net::TimePoint sent,
                    std::chrono::milliseconds lease_for) {
  const MutexLock lock(mutex_);
  Taken& last = renewed_[member];
  if (Planted(PlantedBug::kLongLeaseUnsaid)) lease_for = own_.terms.lease_for;
  if (last.sent + last.lease_for < sent + lease_for) last = {sent, lease_for};
}

void Lease::Shorten(int member, std::chrono::milliseconds lease_for) {
  const MutexLock lock(mutex_);
  const auto last = renewed_.find(member);
  if (last == renewed_.end() || last->second.lease_for <= lease_for) return;
  last->second.lease_for = lease_for;
  until_.store(std::min(until_.load(), EndLocked()));
}

net::Duration::rep Lease::EndLocked() const {
  std::vector<net::TimePoint> ends;
  for (const int member : counting_) {
    const auto last = renewed_.find(member);
    if (last == renewed_.end()) continue;
    ends.push_back(last->second.sent + last->second.lease_for);
  }
  if (needed_ == 0 || std::ssize(ends) < needed_) return 0;
  const auto end = ends.begin() + needed_ - 1;
  std::nth_element(ends.begin(), end, ends.end(), std::greater<>());
  return Ticks(*end);
}

// As many as f may leave with the next view without being asked; also where
// some are down by now, which may be taken in again, empty, with as many
// others.
int Lease::MembersNeeded(const View& view) {
  const auto down = std::count_if(
      view.members.begin(), view.members.end(),
      [](const Member& member) { return member.state == MemberState::kDown; });
  const int there = static_cast<int>(view.members.size() - down);
  return std::max(1, std::min(view.max_failures + 1, there));
}

bool Lease::MayResume(const View& view, net::TimePoint now) const {
  const MutexLock lock(mutex_);
  if (confirmed_ < view.epoch || own_.terms.epoch > view.epoch) return false;
  const auto shown = std::count_if(
      shown_.begin(), shown_.end(),
      [now](const auto& one) { return now - one.second < kTakenOffAfter / 2; });
  return shown >= MembersNeeded(view);
}

void Lease::Confirm(const View& view) {
  const MutexLock lock(mutex_);
  if (own_.terms.epoch > view.epoch) return;
  confirmed_ = std::max(confirmed_, view.epoch);
  counting_.clear();
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    if (view.members[i].state == MemberState::kDown) continue;
    counting_.push_back(static_cast<int>(i));
  }
  needed_ = MembersNeeded(view);
  net::Duration::rep until = EndLocked();
  if (until == 0) return;
  if (Planted(PlantedBug::kLeaseTooLong)) until += (20 * kGoneAfter).count();
  until_.store(until);
}

bool Lease::WasConfirmed(std::uint64_t epoch) const {
  const MutexLock lock(mutex_);
  return confirmed_ >= epoch;
}

void Lease::AddSession() {
  const MutexLock lock(mutex_);
  ++sessions_;
}

bool Lease::RemoveSession() {
  const MutexLock lock(mutex_);
  return --sessions_ == 0;
}

}  // namespace ers::store
