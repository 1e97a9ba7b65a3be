// KnownChanges: the changes that this process knows to be committed, the last
// one of each key, as far as there is room. A copy of one of them is believed
// from any replica (docs/internals/commit.md).
#ifndef ERS_STORE_MEMBERSHIP_KNOWN_CHANGES_H_
#define ERS_STORE_MEMBERSHIP_KNOWN_CHANGES_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "store/format/change_id.h"

namespace ers::store {

// Bounded: of two keys of one slot the earlier one is forgotten. What was
// committed stays so, hence nothing is ever taken back. Any thread.
class KnownChanges {
 public:
  KnownChanges();
  KnownChanges(const KnownChanges&) = delete;
  KnownChanges& operator=(const KnownChanges&) = delete;

  // All replicas of `key` have had this change, under one view.
  void Add(std::string_view key, const ChangeId& change);
  [[nodiscard]] bool Has(std::string_view key, const ChangeId& change);

 private:
  // Half a MiB in all.
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kSlots = 2048;  // of a shard
  struct Shard {
    Mutex mutex;
    std::vector<ChangeId> slots ERS_GUARDED_BY(mutex);
  };

  std::array<Shard, kShards> shards_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_KNOWN_CHANGES_H_
