#include "store/membership/view_keeper.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/mutex.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

// Is it out, or was it between the two views? Then what is under way to it is
// for an incarnation that is no more.
bool HasLeft(const View* before, const View& now, std::size_t member) {
  const Member& is = now.members[member];
  const bool was_there = before != nullptr && member < before->members.size();
  return is.state == MemberState::kDown ||
         (was_there && before->members[member].incarnation != is.incarnation);
}

}  // namespace

std::shared_ptr<const View> ViewKeeper::Current() const {
  const MutexLock lock(mutex_);
  return view_;
}

bool ViewKeeper::BeginWrite(std::uint64_t epoch, int member) {
  const MutexLock lock(mutex_);
  const bool other = changing_ || !view_ || view_->epoch != epoch;
  if (other && !Planted(PlantedBug::kIgnoreEpoch)) return false;
  ++writes_[static_cast<std::size_t>(member)];
  return true;
}

void ViewKeeper::EndWrite(int member) {
  std::function<void()> wake;
  {
    const MutexLock lock(mutex_);
    assert(writes_[static_cast<std::size_t>(member)] > 0);
    --writes_[static_cast<std::size_t>(member)];
    if (drain_waiter_ && DrainedLocked()) {
      wake = std::exchange(drain_waiter_, nullptr);
    }
  }
  if (wake) wake();
}

std::optional<ViewKeeper::DoubtId> ViewKeeper::PutInDoubt(std::uint64_t epoch,
                                                          int member) {
  std::function<void()> wake;
  std::optional<DoubtId> doubt;
  {
    const MutexLock lock(mutex_);
    const auto at = static_cast<std::size_t>(member);
    if (view_->epoch == epoch) {
      ++in_doubt_[at];
      doubt = DoubtId{member, departures_[at]};
    } else {
      --writes_[at];
    }
    if (drain_waiter_ && DrainedLocked()) {
      wake = std::exchange(drain_waiter_, nullptr);
    }
  }
  if (wake) wake();
  return doubt;
}

bool ViewKeeper::IsInDoubt(const DoubtId& doubt) const {
  const MutexLock lock(mutex_);
  return departures_[static_cast<std::size_t>(doubt.member)] ==
         doubt.departures;
}

void ViewKeeper::Resolve(const DoubtId& doubt) {
  const MutexLock lock(mutex_);
  const auto at = static_cast<std::size_t>(doubt.member);
  // A member that left took its doubts along.
  if (departures_[at] != doubt.departures) return;
  assert(in_doubt_[at] > 0);
  --in_doubt_[at];
  --writes_[at];
}

std::vector<int> ViewKeeper::MembersInDoubt() const {
  const MutexLock lock(mutex_);
  std::vector<int> members;
  for (std::size_t member = 0; member < in_doubt_.size(); ++member) {
    if (in_doubt_[member] > 0) members.push_back(static_cast<int>(member));
  }
  return members;
}

bool ViewKeeper::AtRest(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  if (changing_) change_waiters_.push_back(std::move(wake));
  return !changing_;
}

bool ViewKeeper::BeginChange(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  if (changing_) {
    change_waiters_.push_back(std::move(wake));
    return false;
  }
  changing_ = true;
  return true;
}

bool ViewKeeper::Drained(std::vector<int> leaving, std::function<void()> wake) {
  const MutexLock lock(mutex_);
  assert(changing_);
  leaving_ = std::move(leaving);
  if (DrainedLocked()) return true;
  drain_waiter_ = std::move(wake);
  return false;
}

bool ViewKeeper::DrainedLocked() const {
  for (std::size_t member = 0; member < writes_.size(); ++member) {
    const bool leaves = std::find(leaving_.begin(), leaving_.end(),
                                  static_cast<int>(member)) != leaving_.end();
    if (writes_[member] > in_doubt_[member] && !leaves) return false;
  }
  return true;
}

void ViewKeeper::NoteStored(const View& view) {
  auto stored = std::make_shared<const View>(view);
  const MutexLock lock(mutex_);
  stored_ = std::move(stored);
}

std::shared_ptr<const View> ViewKeeper::Newest() const {
  const MutexLock lock(mutex_);
  return stored_ && stored_->epoch > view_->epoch ? stored_ : view_;
}

void ViewKeeper::EndChange(std::shared_ptr<const View> view) {
  std::vector<std::function<void()>> waiters;
  {
    const MutexLock lock(mutex_);
    assert(changing_);
    changing_ = false;
    leaving_.clear();
    drain_waiter_ = nullptr;
    if (view) {
      const std::shared_ptr<const View> before =
          std::exchange(view_, std::move(view));
      version_.fetch_add(1);
      writes_.resize(view_->members.size());
      in_doubt_.resize(view_->members.size());
      departures_.resize(view_->members.size());
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        if (!HasLeft(before.get(), *view_, i)) continue;
        writes_[i] -= std::exchange(in_doubt_[i], 0);
        ++departures_[i];
      }
    }
    waiters.swap(change_waiters_);
  }
  for (const auto& wake : waiters) wake();
}

}  // namespace ers::store
