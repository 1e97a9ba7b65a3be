#include "store/upkeep/garbage_names.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ers::store {
namespace {

auto Order(const KeyHash& hash) { return std::tie(hash.high, hash.low); }

auto Order(const FoundManifest& manifest) {
  return std::tie(manifest.hash.high, manifest.hash.low, manifest.item_key,
                  manifest.member, manifest.may_have_ended);
}

std::size_t BytesOf(const FoundManifest& manifest) {
  return sizeof(FoundManifest) + manifest.item_key.size();
}

}  // namespace

void GarbageNames::Add(const FoundBlock& block) {
  blocks_.push_back(block);
  LimitMemory(sizeof block);
}

void GarbageNames::Add(FoundManifest manifest) {
  const std::size_t bytes = BytesOf(manifest);
  manifests_.push_back(std::move(manifest));
  LimitMemory(bytes);
}

void GarbageNames::LimitMemory(std::size_t added) {
  bytes_ += added;
  if (bytes_ <= most_bytes_) return;
  SortManifests();
  // Half empty afterwards, or the next one would be here again.
  while (bytes_ > most_bytes_ / 2 && last_ > first_) Shorten();
}

// Each manifest is on several members, and listed by each.
void GarbageNames::SortManifests() {
  std::sort(manifests_.begin(), manifests_.end(),
            [](const FoundManifest& a, const FoundManifest& b) {
              return Order(a) < Order(b);
            });
  const auto same =
      std::unique(manifests_.begin(), manifests_.end(),
                  [](const FoundManifest& a, const FoundManifest& b) {
                    return Order(a) == Order(b);
                  });
  for (auto it = same; it != manifests_.end(); ++it) bytes_ -= BytesOf(*it);
  manifests_.erase(same, manifests_.end());
}

// To the lower half of what it holds, or at least to less.
void GarbageNames::Shorten() {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(blocks_.size() + manifests_.size());
  for (const FoundBlock& block : blocks_) {
    hashes.push_back(block.name.hash.high);
  }
  for (const FoundManifest& manifest : manifests_) {
    hashes.push_back(manifest.hash.high);
  }
  if (hashes.empty()) return;
  const auto middle =
      hashes.begin() + static_cast<std::ptrdiff_t>(hashes.size() / 2);
  std::nth_element(hashes.begin(), middle, hashes.end());
  last_ = std::max(first_, *middle == 0 ? 0 : *middle - 1);
  std::erase_if(blocks_, [this](const FoundBlock& block) {
    return !Covers(block.name.hash);
  });
  std::erase_if(manifests_, [this](const FoundManifest& manifest) {
    return !Covers(manifest.hash);
  });
  bytes_ = blocks_.size() * sizeof(FoundBlock);
  for (const FoundManifest& manifest : manifests_) bytes_ += BytesOf(manifest);
}

std::vector<GarbageNames::Group> GarbageNames::Groups() {
  SortManifests();
  std::sort(blocks_.begin(), blocks_.end(),
            [](const FoundBlock& a, const FoundBlock& b) {
              return Order(a.name.hash) < Order(b.name.hash);
            });
  std::vector<Group> groups;
  auto manifest = manifests_.cbegin();
  auto block = blocks_.cbegin();
  while (block != blocks_.cend() || manifest != manifests_.cend()) {
    const bool by_block = manifest == manifests_.cend() ||
                          (block != blocks_.cend() &&
                           Order(block->name.hash) < Order(manifest->hash));
    const KeyHash hash = by_block ? block->name.hash : manifest->hash;
    const auto first_block = block;
    while (block != blocks_.cend() && block->name.hash == hash) ++block;
    const auto first = manifest;
    while (manifest != manifests_.cend() && manifest->hash == hash) ++manifest;
    groups.push_back({{first_block, block}, {first, manifest}});
  }
  return groups;
}

}  // namespace ers::store
