#include "store/membership/known_changes.h"

#include <functional>
#include <utility>

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
  Slot& slot = shard.slots[hash / kShards % kSlots];
  if (slot.change != change) slot = {change, nullptr};
}

bool KnownChanges::Has(std::string_view key, const ChangeId& change) {
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  return change && shard.slots[hash / kShards % kSlots].change == change;
}

void KnownChanges::Keep(std::unique_ptr<KeptTokens> kept) {
  const std::size_t hash = HashOf(kept->manifest.key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  Slot& slot = shard.slots[hash / kShards % kSlots];
  if (slot.change == kept->manifest.id) slot.kept = std::move(kept);
}

std::unique_ptr<KeptTokens> KnownChanges::Take(std::string_view key) {
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  Slot& slot = shard.slots[hash / kShards % kSlots];
  const bool of_key = slot.kept && slot.kept->manifest.key == key;
  return of_key ? std::move(slot.kept) : nullptr;
}

}  // namespace ers::store
