#include "store/support/buffer_pool.h"

#include <algorithm>
#include <utility>

namespace ers::store {

BufferPool::Buffer BufferPool::Take(std::size_t size) {
  // The last one returned first: its pages are the warmest. One that is much
  // too large is left for a value that needs it.
  const auto found =
      std::find_if(kept_.rbegin(), kept_.rend(), [size](const Buffer& buffer) {
        return buffer.capacity >= size && buffer.capacity / 2 <= size;
      });
  if (found == kept_.rend()) {
    return {std::make_unique_for_overwrite<std::byte[]>(size), size};
  }
  Buffer buffer = std::move(*found);
  kept_.erase(std::next(found).base());
  kept_bytes_ -= buffer.capacity;
  return buffer;
}

void BufferPool::Return(Buffer buffer) {
  if (buffer.capacity > kMaxKeptBytes) return;
  // Sizes that no call asks for any more must not fill the pool.
  while (kept_bytes_ + buffer.capacity > kMaxKeptBytes) {
    kept_bytes_ -= kept_.front().capacity;
    kept_.erase(kept_.begin());
  }
  kept_bytes_ += buffer.capacity;
  kept_.push_back(std::move(buffer));
}

}  // namespace ers::store
