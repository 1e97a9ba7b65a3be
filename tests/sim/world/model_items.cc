#include "sim/world/model_items.h"

#include <utility>

namespace ers::sim {
namespace {

constexpr std::int64_t kRelativeLimit = 60 * 60 * 24 * 30;
constexpr std::int64_t kFirstSecond = 62;

}  // namespace

ModelItems::ModelItems(std::function<std::int64_t()> wall_seconds)
    : wall_seconds_(std::move(wall_seconds)),
      started_(wall_seconds_() - kFirstSecond) {}

std::uint32_t ModelItems::Now() const {
  return static_cast<std::uint32_t>(wall_seconds_() - started_);
}

std::uint32_t ModelItems::ExpiryOf(std::int64_t exptime) const {
  if (exptime == 0) return 0;
  if (exptime < 0) return 1;
  if (exptime <= kRelativeLimit) {
    return Now() + static_cast<std::uint32_t>(exptime);
  }
  if (exptime <= started_) return 1;
  return static_cast<std::uint32_t>(exptime - started_);
}

ModelItem* ModelItems::Find(std::string_view key) {
  const auto found = items_.find(key);
  if (found == items_.end()) return nullptr;
  if (found->second.expires == 0 || IsLive(found->second, Now())) {
    return &found->second;
  }
  items_.erase(found);
  return nullptr;
}

ModelItem& ModelItems::Put(std::string_view key, ModelItem item) {
  item.cas = NextCas();
  item.accessed = Now();
  const auto found = items_.lower_bound(key);
  if (found != items_.end() && found->first == key) {
    found->second = std::move(item);
    return found->second;
  }
  return items_.emplace_hint(found, key, std::move(item))->second;
}

bool ModelItems::Erase(std::string_view key) {
  const auto found = items_.find(key);
  if (found == items_.end()) return false;
  items_.erase(found);
  return true;
}

void ModelItems::Flush() {
  items_.clear();
  NextCas();  // as the real one: a flush takes a token
}

std::size_t ModelItems::StoredBytes(std::size_t key_bytes,
                                    std::size_t value_bytes,
                                    std::uint32_t flags) {
  constexpr std::size_t kHeader = 48;
  constexpr std::size_t kToken = 8;
  return kHeader + kToken + (flags != 0 ? 4 : 0) + key_bytes + 1 + value_bytes +
         2;
}

std::vector<std::string> ModelItems::LiveKeys() const {
  std::vector<std::string> keys;
  const std::uint32_t now = Now();
  for (const auto& [key, item] : items_) {
    if (IsLive(item, now)) keys.push_back(key);
  }
  return keys;
}

}  // namespace ers::sim
