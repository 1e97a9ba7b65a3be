#include "store/membership/lease.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

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

bool Lease::BeginHeartbeat(net::TimePoint now, std::function<void()> wake) {
  const MutexLock lock(mutex_);
  if (sending_heartbeat_) {
    if (wake) waiters_.push_back(std::move(wake));
    return false;
  }
  sending_heartbeat_ = true;
  next_heartbeat_.store(Ticks(now + kHeartbeatEvery));
  return true;
}

void Lease::EndHeartbeat() {
  std::vector<std::function<void()>> waiters;
  {
    const MutexLock lock(mutex_);
    sending_heartbeat_ = false;
    waiters.swap(waiters_);
  }
  for (const auto& wake : waiters) wake();
}

void Lease::RaiseEpoch(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  own_.epoch = std::max(own_.epoch, epoch);
  until_.store(0);
}

std::vector<Participant> Lease::WithOwnEntry(
    const std::vector<Participant>& participants, std::uint64_t epoch,
    net::TimePoint now, std::uint64_t random) {
  const MutexLock lock(mutex_);
  if (own_.id == 0) own_.id = std::max<std::uint64_t>(1, random);
  own_.epoch = std::max(own_.epoch, epoch);
  ++own_.heartbeat;
  std::vector<Participant> there;
  for (const Participant& participant : participants) {
    if (participant.id == own_.id || IsGoneLocked(participant, now)) continue;
    there.push_back(participant);
  }
  there.push_back(own_);
  return there;
}

std::vector<Participant> Lease::WithoutOwnEntry(
    std::vector<Participant> participants) {
  const MutexLock lock(mutex_);
  until_.store(0);
  std::erase_if(participants, [own = own_.id](const Participant& participant) {
    return participant.id == own;
  });
  return participants;
}

bool Lease::HasEntry() const {
  const MutexLock lock(mutex_);
  return own_.id != 0;
}

void Lease::Observe(const std::vector<Participant>& participants,
                    net::TimePoint now) {
  const MutexLock lock(mutex_);
  for (const Participant& participant : participants) {
    if (participant.id == own_.id) continue;
    const auto [it, fresh] = seen_.try_emplace(participant.id);
    Seen& seen = it->second;
    if (!fresh && participant.heartbeat <= seen.heartbeat) continue;
    seen = {participant.heartbeat, participant.epoch, now};
  }
  // What is gone from the record, too, need not be known any more.
  std::erase_if(seen_, [&](const auto& one) {
    return now - one.second.at > 2 * kGoneAfter &&
           std::none_of(participants.begin(), participants.end(),
                        [&one](const Participant& participant) {
                          return participant.id == one.first;
                        });
  });
}

void Lease::Renewed(int member, net::TimePoint sent) {
  const MutexLock lock(mutex_);
  net::TimePoint& last = renewed_[member];
  last = std::max(last, sent);
}

void Lease::Confirm(const View& view) {
  const MutexLock lock(mutex_);
  if (own_.epoch > view.epoch) return;
  confirmed_ = std::max(confirmed_, view.epoch);
  std::vector<net::TimePoint> times;
  int down = 0;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    if (view.members[i].state == MemberState::kDown) {
      ++down;
      continue;
    }
    const auto renewed = renewed_.find(static_cast<int>(i));
    if (renewed != renewed_.end()) times.push_back(renewed->second);
  }
  // As many may leave with the next view without being asked; also where some
  // are down by now, which may be taken in again, empty, with as many others.
  const int there = static_cast<int>(view.members.size()) - down;
  const int may_leave = std::max(0, std::min(view.max_failures, there - 1));
  if (static_cast<int>(times.size()) <= may_leave) return;
  std::nth_element(times.begin(), times.begin() + may_leave, times.end(),
                   std::greater<>());
  until_.store(Ticks(times[static_cast<std::size_t>(may_leave)] + kLeaseFor));
}

bool Lease::WasConfirmed(std::uint64_t epoch) const {
  const MutexLock lock(mutex_);
  return confirmed_ >= epoch;
}

bool Lease::IsGoneLocked(const Participant& participant,
                         net::TimePoint now) const {
  const auto seen = seen_.find(participant.id);
  return seen != seen_.end() &&
         participant.heartbeat <= seen->second.heartbeat &&
         now - seen->second.at >= kGoneAfter;
}

std::vector<Participant> Lease::Behind(
    const std::vector<Participant>& participants, std::uint64_t epoch,
    net::TimePoint now) const {
  const MutexLock lock(mutex_);
  std::vector<Participant> behind;
  for (const Participant& participant : participants) {
    if (participant.id == own_.id || participant.epoch >= epoch) continue;
    if (!IsGoneLocked(participant, now)) behind.push_back(participant);
  }
  return behind;
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
