// GarbageNames: which blocks the servers hold, and which objects there are, of
// a range of key hashes: what one round of garbage collection checks.
#ifndef ERS_STORE_UPKEEP_GARBAGE_NAMES_H_
#define ERS_STORE_UPKEEP_GARBAGE_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "store/format/keys.h"

namespace ers::store {

struct FoundBlock {
  BlockName name;
  std::int32_t member = 0;
  std::uint32_t bytes = 0;
};

// An item that may be a manifest.
struct FoundManifest {
  KeyHash hash;
  std::string item_key;
  int member = -1;  // that holds it; of hashed names only
  bool may_have_ended = false;
};

// Takes memory for up to twice `max_bytes` of names: where more would be
// needed, the range becomes shorter, and what is outside is left to the next.
class GarbageNames {
 public:
  // Of hashes whose first half is `first` or more.
  GarbageNames(std::uint64_t first, std::size_t max_bytes)
      : first_(first), most_bytes_(max_bytes) {}

  [[nodiscard]] bool Covers(const KeyHash& hash) const {
    return hash.high >= first_ && hash.high <= last_;
  }
  // By this range, or by one before it.
  [[nodiscard]] bool Covered(const KeyHash& hash) const {
    return hash.high <= last_;
  }
  // Of hashes that it covers.
  void Add(const FoundBlock& block);
  void Add(FoundManifest manifest);

  // One object's, or of none where there are no manifests. Small values have
  // no blocks.
  struct Group {
    std::span<const FoundBlock> blocks;
    std::span<const FoundManifest> manifests;
  };
  // By hash, once all were added.
  [[nodiscard]] std::vector<Group> Groups();
  // Of the hashes that it covers, the last one's first half.
  [[nodiscard]] std::uint64_t last() const { return last_; }

 private:
  void LimitMemory(std::size_t added);
  void SortManifests();
  void Shorten();

  const std::uint64_t first_;
  std::uint64_t last_ = std::numeric_limits<std::uint64_t>::max();
  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::vector<FoundBlock> blocks_;
  std::vector<FoundManifest> manifests_;
};

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_GARBAGE_NAMES_H_
