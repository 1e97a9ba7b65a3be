#include "jobs/memory_watch.h"

#include <utility>

namespace ers::proxy {

void MemoryWatch::Scan() {
  const net::TimePoint now = host_.session.runtime().Now();
  // A cluster that was never used yet is none of a watcher's.
  if (at_work_ || host_.stopping || now < next_ || !host_.session.view()) {
    return;
  }
  // The answers of many idle processes would be half of their traffic.
  const bool was_read = read_.exchange(false);
  if (!was_read && now < unread_until_) return;
  at_work_ = true;
  next_ = now + kAskMemoryEvery;
  unread_until_ = now + kAskMemoryUnread;
  net::Spawn(Ask());
}

net::Task<void> MemoryWatch::Ask() {
  MemoryReports reports = co_await store::AskMemoryUse(host_.session);
  {
    const MutexLock lock(mutex_);
    reports_ = std::move(reports);
  }
  at_work_ = false;
}

MemoryReports MemoryWatch::reports() const {
  read_.store(true);
  const MutexLock lock(mutex_);
  return reports_;
}

}  // namespace ers::proxy
