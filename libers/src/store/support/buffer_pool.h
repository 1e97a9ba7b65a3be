// BufferPool: memory for blocks that are under way, kept from one operation to
// the next: fresh pages for every block cost more than reading it.
#ifndef ERS_STORE_SUPPORT_BUFFER_POOL_H_
#define ERS_STORE_SUPPORT_BUFFER_POOL_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace ers::store {

// Loop thread only.
class BufferPool {
 public:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
  };

  // At least `size` bytes, contents undefined.
  Buffer Take(std::size_t size);
  // Kept for the next Take while all that is kept fits the limit.
  void Return(Buffer buffer);
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }

  // Room for the blocks of one full group, data and parity.
  static constexpr std::size_t kMaxKeptBytes = std::size_t{12} << 20;

 private:
  std::vector<Buffer> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_BUFFER_POOL_H_
