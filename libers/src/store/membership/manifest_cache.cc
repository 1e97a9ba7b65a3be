#include "store/membership/manifest_cache.h"

#include <utility>

namespace ers::store {

std::shared_ptr<const Manifest> ManifestCache::Find(std::string_view key) {
  // One operation asks several times.
  if (!order_.empty() && order_.front()->key == key) return order_.front();
  const auto place = places_.find(key);
  if (place == places_.end()) return nullptr;
  order_.splice(order_.begin(), order_, place->second);
  return order_.front();
}

void ManifestCache::Insert(std::shared_ptr<const Manifest> manifest) {
  if (capacity_ == 0) return;
  if (manifest->is_inline) return Erase(manifest->key);
  const std::shared_ptr<const Manifest> known = Find(manifest->key);
  if (known && known->id == manifest->id) return;
  Erase(manifest->key);
  order_.push_front(std::move(manifest));
  places_.emplace(order_.front()->key, order_.begin());
  if (order_.size() > capacity_) Erase(order_.back()->key);
}

void ManifestCache::Erase(std::string_view key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  const auto entry = place->second;
  places_.erase(place);
  order_.erase(entry);
}

}  // namespace ers::store
