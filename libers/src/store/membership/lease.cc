#include "store/membership/lease.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "store/planted_bug.h"

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

bool Lease::BeginBeat(net::TimePoint now, std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (beating_) {
    if (wake) waiters_.push_back(std::move(wake));
    return false;
  }
  beating_ = true;
  next_beat_.store(Ticks(now + kBeatEvery));
  return true;
}

void Lease::EndBeat() {
  std::vector<std::function<void()>> waiters;
  {
    const std::lock_guard lock(mutex_);
    beating_ = false;
    waiters.swap(waiters_);
  }
  for (const auto& wake : waiters) wake();
}

void Lease::RaiseEpoch(std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  own_.epoch = std::max(own_.epoch, epoch);
  until_.store(0);
}

std::vector<Peer> Lease::WithOwnLine(std::vector<Peer> peers,
                                     std::uint64_t epoch, net::TimePoint now,
                                     std::uint64_t random) {
  const std::lock_guard lock(mutex_);
  if (own_.id == 0) own_.id = std::max<std::uint64_t>(1, random);
  own_.epoch = std::max(own_.epoch, epoch);
  ++own_.beat;
  std::erase_if(peers, [this, now](const Peer& peer) {
    return peer.id == own_.id || IsGoneLocked(peer, now);
  });
  peers.push_back(own_);
  return peers;
}

std::vector<Peer> Lease::WithoutOwnLine(std::vector<Peer> peers) {
  const std::lock_guard lock(mutex_);
  until_.store(0);
  std::erase_if(peers, [this](const Peer& peer) { return peer.id == own_.id; });
  return peers;
}

bool Lease::HasLine() const {
  const std::lock_guard lock(mutex_);
  return own_.id != 0;
}

void Lease::Observe(const std::vector<Peer>& peers, net::TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (const Peer& peer : peers) {
    if (peer.id == own_.id) continue;
    const auto [it, fresh] = seen_.try_emplace(peer.id);
    Seen& seen = it->second;
    if (!fresh && peer.beat <= seen.beat) continue;
    seen = {peer.beat, peer.epoch, now};
  }
  // Whoever is gone from the record, too, need not be known any more.
  std::erase_if(seen_, [&](const auto& one) {
    return now - one.second.at > 2 * kGoneAfter &&
           std::none_of(peers.begin(), peers.end(), [&one](const Peer& peer) {
             return peer.id == one.first;
           });
  });
}

void Lease::Renewed(int member, net::TimePoint sent) {
  const std::lock_guard lock(mutex_);
  net::TimePoint& last = renewed_[member];
  last = std::max(last, sent);
}

void Lease::Confirm(const View& view) {
  const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  return confirmed_ >= epoch;
}

bool Lease::IsGoneLocked(const Peer& peer, net::TimePoint now) const {
  const auto seen = seen_.find(peer.id);
  return seen != seen_.end() && peer.beat <= seen->second.beat &&
         now - seen->second.at >= kGoneAfter;
}

std::vector<Peer> Lease::Behind(const std::vector<Peer>& peers,
                                std::uint64_t epoch, net::TimePoint now) const {
  const std::lock_guard lock(mutex_);
  std::vector<Peer> behind;
  for (const Peer& peer : peers) {
    if (peer.id == own_.id || peer.epoch >= epoch) continue;
    if (!IsGoneLocked(peer, now)) behind.push_back(peer);
  }
  return behind;
}

void Lease::AddSession() {
  const std::lock_guard lock(mutex_);
  ++sessions_;
}

bool Lease::RemoveSession() {
  const std::lock_guard lock(mutex_);
  return --sessions_ == 0;
}

}  // namespace ers::store
