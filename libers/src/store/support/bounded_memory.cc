#include "store/support/bounded_memory.h"

#include <cassert>

namespace ers::store {

using net::Task;

bool BoundedMemory::Fits(std::uint64_t bytes) const {
  return held_ == 0 || (held_ <= limit_ && bytes <= limit_ - held_);
}

Task<void> BoundedMemory::Take(std::uint64_t bytes) {
  if (waiting_.empty() && Fits(bytes)) {
    held_ += bytes;
    co_return;
  }
  Waiter waiter{bytes, net::Latch(runtime_, 1)};
  waiting_.push_back(&waiter);
  co_await waiter.granted;
}

void BoundedMemory::Give(std::uint64_t bytes) {
  held_ -= bytes;
  while (!waiting_.empty() && Fits(waiting_.front()->bytes)) {
    Waiter& waiter = *waiting_.front();
    waiting_.pop_front();
    held_ += waiter.bytes;
    waiter.granted.CountDown();
  }
}

Task<void> BoundedMemory::Share::Take(std::uint64_t bytes) {
  assert(bytes_ == 0);
  if (memory_ == nullptr) co_return;
  co_await memory_->Take(bytes);
  bytes_ = bytes;
}

}  // namespace ers::store
