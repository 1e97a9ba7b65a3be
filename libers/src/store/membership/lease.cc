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

net::Duration Lease::HeartbeatEvery(net::TimePoint now) const {
  const net::Duration since(Ticks(now) - last_call_.load());
  return since < kRestsAfter ? kHeartbeatEvery : kRestingHeartbeatEvery;
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
  own_.epoch = std::max(own_.epoch, epoch);
  until_.store(0);
}

Participant Lease::Self(std::uint64_t random) {
  const MutexLock lock(mutex_);
  if (self_.id == 0) self_.id = std::max<std::uint64_t>(1, random);
  own_.id = self_.id;
  return self_;
}

std::uint64_t Lease::EpochOfEntry(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  own_.epoch = std::max(own_.epoch, epoch);
  return own_.epoch;
}

Entry Lease::NextEntry(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  own_.epoch = std::max(own_.epoch, epoch);
  ++own_.count;
  return own_;
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
                   net::Duration after) const {
  const MutexLock lock(mutex_);
  const auto seen = seen_.find(id);
  net::Duration wait = after;
  if (Planted(PlantedBug::kEntryNotWaited)) wait = net::Duration(1);
  if (Planted(PlantedBug::kGoneWithLease)) wait = kLeaseFor;
  return seen != seen_.end() && asked - seen->second.at >= wait;
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

void Lease::Renewed(int member, net::TimePoint sent) {
  const MutexLock lock(mutex_);
  net::TimePoint& last = renewed_[member];
  last = std::max(last, sent);
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
  if (confirmed_ < view.epoch || own_.epoch > view.epoch) return false;
  const auto shown = std::count_if(
      shown_.begin(), shown_.end(),
      [now](const auto& one) { return now - one.second < kTakenOffAfter / 2; });
  return shown >= MembersNeeded(view);
}

void Lease::Confirm(const View& view) {
  const MutexLock lock(mutex_);
  if (own_.epoch > view.epoch) return;
  confirmed_ = std::max(confirmed_, view.epoch);
  std::vector<net::TimePoint> times;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    if (view.members[i].state == MemberState::kDown) continue;
    const auto renewed = renewed_.find(static_cast<int>(i));
    if (renewed != renewed_.end()) times.push_back(renewed->second);
  }
  const int needed = MembersNeeded(view);
  if (static_cast<int>(times.size()) < needed) return;
  const auto last = times.begin() + needed - 1;
  std::nth_element(times.begin(), last, times.end(), std::greater<>());
  const net::Duration lasts = Planted(PlantedBug::kLeaseTooLong)
                                  ? 20 * net::Duration(kGoneAfter)
                                  : net::Duration(kLeaseFor);
  until_.store(Ticks(*last + lasts));
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
