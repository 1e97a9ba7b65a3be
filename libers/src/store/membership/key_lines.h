// KeyLines: changes of one key wait in a line, all threads of a process in one.
#ifndef ERS_STORE_MEMBERSHIP_KEY_LINES_H_
#define ERS_STORE_MEMBERSHIP_KEY_LINES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/format/manifest.h"

namespace ers::store {

// Rivals of one process would only refuse each other at the servers. First
// come, first served. A line is there as long as it is not empty. Any thread.
class KeyLines {
  struct Waiter;
  struct Line {
    // Not a deque: nearly all are empty, and must cost nothing.
    std::list<std::shared_ptr<Waiter>> waiting;
    std::uint64_t turns = 0;  // that have ended
    // What the last one that knew left there; null: none did.
    std::shared_ptr<const Manifest> left;
  };
  struct Shard {
    Mutex mutex;
    std::unordered_map<std::string, Line> lines ERS_GUARDED_BY(mutex);
  };
  using Entry = std::pair<const std::string, Line>;

 public:
  // As long as it lives, no other has the key's. Used, and destroyed, on the
  // thread of the runtime that it was got for; the lines outlive it.
  class [[nodiscard]] Turn {
   public:
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    // It was not this one's at once.
    [[nodiscard]] bool waited() const { return waited_; }
    // What the object is by those before. Null: they did not say.
    [[nodiscard]] const std::shared_ptr<const Manifest>& found() const {
      return found_;
    }
    // Passes what the object is now to the one behind.
    void Leave(std::shared_ptr<const Manifest> manifest) {
      left_ = std::move(manifest);
    }

   private:
    friend class KeyLines;
    Turn(net::Runtime& runtime, Shard& shard, Entry& entry)
        : runtime_(runtime), shard_(shard), entry_(&entry) {}

    net::Runtime& runtime_;
    Shard& shard_;
    Entry* entry_;  // null: moved from
    bool waited_ = false;
    std::shared_ptr<const Manifest> found_;
    std::shared_ptr<const Manifest> left_;
  };

  KeyLines() = default;
  KeyLines(const KeyLines&) = delete;
  KeyLines& operator=(const KeyLines&) = delete;

  // The turn, where the line is empty.
  std::optional<Turn> TryTake(net::Runtime& runtime, std::string_view key);
  // Empty: no turn before this one has ended for so long. The loop runs until
  // this ends.
  net::Task<std::optional<Turn>> Take(net::Runtime& runtime,
                                      std::string_view key,
                                      net::Duration patience);

  // Keys that are being changed.
  [[nodiscard]] std::size_t size();

 private:
  static void End(Turn& turn);
  Shard& ShardOf(std::string_view key);

  static constexpr std::size_t kShards = 16;
  std::array<Shard, kShards> shards_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_KEY_LINES_H_
