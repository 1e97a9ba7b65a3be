// Count: a number that one thread changes and any thread reads.
#ifndef ERS_BASE_COUNT_H_
#define ERS_BASE_COUNT_H_

#include <atomic>
#include <cstdint>

namespace ers {

// One writer at a time: no locked instruction, and readers see each Count by
// itself, in no order with others.
class Count {
 public:
  Count() = default;
  // Of its value now.
  Count(const Count& other) : value_(other.Get()) {}
  Count& operator=(const Count&) = delete;

  void Add(std::uint64_t by = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + by,
                 std::memory_order_relaxed);
  }
  void Subtract(std::uint64_t by = 1) { Add(~by + 1); }
  [[nodiscard]] std::uint64_t Get() const {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace ers

#endif  // ERS_BASE_COUNT_H_
