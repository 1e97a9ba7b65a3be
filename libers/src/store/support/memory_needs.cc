#include "store/support/memory_needs.h"

#include "base/mutex.h"

namespace ers::store {

void MemoryNeeds::NoteEnding(std::string_view key, std::int64_t expiry) {
  if (!served_.load()) return;
  const MutexLock lock(mutex_);
  const auto there = ending_.find(key);
  if (there != ending_.end()) {
    if (there->second == expiry) return;
    by_time_.erase({there->second, there->first});
    there->second = expiry;
  } else if (ending_.size() < kMaxEndings) {
    ending_.emplace(key, expiry);
  } else {
    return;
  }
  by_time_.emplace(expiry, key);
}

std::vector<std::string> MemoryNeeds::TakeEnded(std::int64_t now) {
  std::vector<std::string> keys;
  const MutexLock lock(mutex_);
  while (!by_time_.empty() && by_time_.begin()->first <= now &&
         keys.size() < kMaxTaken) {
    auto node = by_time_.extract(by_time_.begin());
    ending_.erase(node.value().second);
    keys.push_back(std::move(node.value().second));
  }
  return keys;
}

}  // namespace ers::store
