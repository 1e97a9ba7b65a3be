// BoundedMemory: memory that the tasks of one loop share, up to a limit.
#ifndef ERS_STORE_SUPPORT_BOUNDED_MEMORY_H_
#define ERS_STORE_SUPPORT_BOUNDED_MEMORY_H_

#include <cstdint>
#include <deque>

#include "net/runtime.h"
#include "net/task.h"

namespace ers::store {

// Tasks get it in the order of asking, so that one that asks for much is not
// passed by others for ever. A task that asks for more than the limit waits
// until no other holds any, and has it alone: all get on. Loop thread only;
// outlives its shares.
class BoundedMemory {
 public:
  class Share;

  BoundedMemory(net::Runtime& runtime, std::uint64_t limit)
      : runtime_(runtime), limit_(limit) {}
  BoundedMemory(const BoundedMemory&) = delete;
  BoundedMemory& operator=(const BoundedMemory&) = delete;

  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  struct Waiter {
    const std::uint64_t bytes;
    net::Latch granted;
  };

  [[nodiscard]] bool Fits(std::uint64_t bytes) const;
  net::Task<void> Take(std::uint64_t bytes);
  void Give(std::uint64_t bytes);

  net::Runtime& runtime_;
  const std::uint64_t limit_;
  std::uint64_t held_ = 0;
  std::deque<Waiter*> waiting_;
};

// What one task holds, until it is destroyed.
class BoundedMemory::Share {
 public:
  // Of nothing yet. Null: no limit holds.
  explicit Share(BoundedMemory* memory) : memory_(memory) {}
  ~Share() {
    if (memory_ != nullptr) memory_->Give(bytes_);
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  // Waits until there is room. At most once: a task that holds some and waits
  // for more could wait for itself.
  net::Task<void> Take(std::uint64_t bytes);

 private:
  BoundedMemory* const memory_;
  std::uint64_t bytes_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_BOUNDED_MEMORY_H_
