// Buffers for encoding that do not fight for the same lines of the cache.
#ifndef ERS_EVAL_BENCH_ALIGNED_BLOCKS_H_
#define ERS_EVAL_BENCH_ALIGNED_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace ers::bench {

// Blocks start on pages, but each some lines further than the last: were all
// at the same place of a page, they would fight for the same cache sets.
class AlignedBlocks {
 public:
  AlignedBlocks(int count, std::size_t bytes) {
    for (int i = 0; i < count; ++i) {
      const std::size_t shift = static_cast<std::size_t>(i % 32) * 128;
      const std::size_t size =
          (bytes + shift + kAlignment - 1) / kAlignment * kAlignment;
      memory_.emplace_back(
          static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, size)));
      if (memory_.back() == nullptr) std::abort();
      pointers_.push_back(memory_.back().get() + shift);
    }
  }
  // Valid as long as this is.
  [[nodiscard]] const std::vector<std::uint8_t*>& pointers() const {
    return pointers_;
  }

 private:
  static constexpr std::size_t kAlignment = 4096;

  struct Free {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };

  std::vector<std::unique_ptr<std::uint8_t, Free>> memory_;
  std::vector<std::uint8_t*> pointers_;
};

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_ALIGNED_BLOCKS_H_
