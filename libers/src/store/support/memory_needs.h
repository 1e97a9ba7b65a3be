// MemoryNeeds: what this process has seen that asks for memory to be given
// back on the servers.
#ifndef ERS_STORE_SUPPORT_MEMORY_NEEDS_H_
#define ERS_STORE_SUPPORT_MEMORY_NEEDS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/runtime.h"

namespace ers::store {

// Any thread.
class MemoryNeeds {
 public:
  // A server had no memory for something.
  void NoteShortage() { shortages_.fetch_add(1, std::memory_order_relaxed); }
  // This process has all objects flushed. Where servers are short of memory,
  // and what was flushed is given back, what is stored next had better
  // wait until that is done, or until then.
  void NoteFlush(net::TimePoint until) {
    if (collects_.load() && shortages() > 0) giving_back_until_.store(until);
  }
  void NoteGivenBack() { giving_back_until_.store({}); }
  [[nodiscard]] bool GivingBack(net::TimePoint now) const {
    return now < giving_back_until_.load(std::memory_order_relaxed);
  }
  // The servers will not drop by themselves what is left of this object when it
  // has ended (Unix seconds). As far as there is room: more is left to garbage
  // collection.
  void NoteEnding(std::string_view key, std::int64_t expiry);

  // From now on what is noted is taken, and, where `collects`, what was flushed
  // is given back. Before that nothing but shortages is noted.
  void Serve(bool collects) {
    served_.store(true);
    collects_.store(collects);
  }
  [[nodiscard]] std::uint64_t shortages() const {
    return shortages_.load(std::memory_order_relaxed);
  }
  // The keys of some of those that have ended by then, which are forgotten.
  std::vector<std::string> TakeEnded(std::int64_t now);

 private:
  static constexpr std::size_t kMaxEndings = std::size_t{1} << 16;
  static constexpr std::size_t kMaxTaken = 1024;

  std::atomic<std::uint64_t> shortages_{0};
  std::atomic<bool> served_{false};
  std::atomic<bool> collects_{false};
  std::atomic<net::TimePoint> giving_back_until_{net::TimePoint()};
  Mutex mutex_;
  // The same ones twice.
  std::map<std::string, std::int64_t, std::less<>> ending_
      ERS_GUARDED_BY(mutex_);
  std::set<std::pair<std::int64_t, std::string>> by_time_
      ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_MEMORY_NEEDS_H_
