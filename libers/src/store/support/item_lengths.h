// ItemLengths: how long the items are that are read as manifests.
#ifndef ERS_STORE_SUPPORT_ITEM_LENGTHS_H_
#define ERS_STORE_SUPPORT_ITEM_LENGTHS_H_

#include <algorithm>
#include <cstdint>

namespace ers::store {

// A manifest may have the value in it, and how long it is shows only once it is
// there. It is taken for about as long as the longest ones of late: more
// patience for short ones than they need costs little, and less for long ones
// would make servers late that are not. One thread.
class ItemLengths {
 public:
  void Note(std::uint64_t bytes) {
    longest_ = std::max(bytes, longest_ - longest_ / kForgets);
  }
  [[nodiscard]] std::uint64_t longest() const { return longest_; }

 private:
  // Of a long one half is left after 44 short ones.
  static constexpr std::uint64_t kForgets = 64;

  std::uint64_t longest_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_ITEM_LENGTHS_H_
