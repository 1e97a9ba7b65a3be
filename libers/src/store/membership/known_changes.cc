#include "store/membership/known_changes.h"

#include <functional>

namespace ers::store {
namespace {

std::size_t HashOf(std::string_view key) {
  return std::hash<std::string_view>()(key);
}

}  // namespace

KnownChanges::KnownChanges() {
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    shard.slots.resize(kSlots);
  }
}

void KnownChanges::Add(std::string_view key, const ChangeId& change) {
  if (!change) return;
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  shard.slots[hash / kShards % kSlots] = change;
}

bool KnownChanges::Has(std::string_view key, const ChangeId& change) {
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  return change && shard.slots[hash / kShards % kSlots] == change;
}

}  // namespace ers::store
