#include "store/membership/known_changes.h"

#include <algorithm>
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
    shard.sets.resize(kSets);
  }
}

KnownChanges::Set::iterator KnownChanges::Find(Set& set, std::size_t hash) {
  return std::find_if(set.begin(), set.end(), [hash](const Slot& slot) {
    return slot.hash == hash && slot.change;
  });
}

void KnownChanges::Add(std::string_view key, const ChangeId& change) {
  if (!change) return;
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  Set& set = shard.SetOf(hash);
  auto at = Find(set, hash);
  if (at == set.end()) --at;
  if (at->hash == hash && at->change == change) return;
  *at = {hash, change, nullptr};
  std::rotate(set.begin(), at, at + 1);
}

bool KnownChanges::Has(std::string_view key, const ChangeId& change) {
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  Set& set = shard.SetOf(hash);
  const auto at = Find(set, hash);
  return change && at != set.end() && at->change == change;
}

void KnownChanges::Keep(std::unique_ptr<KeptTokens> kept) {
  const std::size_t hash = HashOf(kept->manifest->key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  Set& set = shard.SetOf(hash);
  const auto at = Find(set, hash);
  if (at != set.end() && at->change == kept->manifest->id) {
    at->kept = std::move(kept);
  }
}

std::unique_ptr<KeptTokens>* KnownChanges::KeptOf(Set& set, std::size_t hash,
                                                  std::string_view key) {
  const auto at = Find(set, hash);
  const bool of_key =
      at != set.end() && at->kept && at->kept->manifest->key == key;
  return of_key ? &at->kept : nullptr;
}

std::unique_ptr<KeptTokens> KnownChanges::Take(std::string_view key) {
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  std::unique_ptr<KeptTokens>* const kept =
      KeptOf(shard.SetOf(hash), hash, key);
  return kept != nullptr ? std::move(*kept) : nullptr;
}

bool KnownChanges::Keeps(std::string_view key) {
  const std::size_t hash = HashOf(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  return KeptOf(shard.SetOf(hash), hash, key) != nullptr;
}

}  // namespace ers::store
