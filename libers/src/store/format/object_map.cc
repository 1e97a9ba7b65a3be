#include "store/format/object_map.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ers::store {
namespace {

using layout::BlockId;
using layout::Geometry;

std::uint32_t DataPosition(const Geometry& geometry, int group, BlockId block) {
  return static_cast<std::uint32_t>(group) *
             static_cast<std::uint32_t>(geometry.data_blocks()) +
         block;
}

std::uint32_t ParityPosition(const Geometry& geometry, Width width, int group,
                             BlockId block) {
  return static_cast<std::uint32_t>(group) *
             static_cast<std::uint32_t>(geometry.parity_blocks(width)) +
         static_cast<std::uint32_t>(geometry.ParityRank(block));
}

}  // namespace

ObjectMap::ObjectMap(std::shared_ptr<const Manifest> manifest)
    : manifest_(std::move(manifest)),
      geometry_(layout::GetGeometry(manifest_->scheme, manifest_->unit)),
      hash_(HashKey(manifest_->key)),
      key_begin_(BlockKeyBegin(hash_, manifest_->id)) {
  assert(!manifest_->is_inline && !manifest_->tombstone);
}

int ObjectMap::groups() const {
  return static_cast<int>((manifest_->length + manifest_->group_bytes - 1) /
                          manifest_->group_bytes);
}

std::uint64_t ObjectMap::GroupOffset(int group) const {
  return static_cast<std::uint64_t>(group) * manifest_->group_bytes;
}

std::uint64_t ObjectMap::GroupLength(int group) const {
  return std::min(manifest_->group_bytes,
                  manifest_->length - GroupOffset(group));
}

std::size_t ObjectMap::CellBytes(int group) const {
  const auto cells =
      static_cast<std::uint64_t>(geometry_->cells().data_blocks());
  return (GroupLength(group) + cells - 1) / cells;
}

std::size_t ObjectMap::BlockBytes(int group, BlockId block) const {
  return CellBytes(group) *
         static_cast<std::size_t>(geometry_->cell_count(block));
}

std::size_t ObjectMap::DataBytes(int group) const {
  return BlockBytes(group, BlockId{0});
}

int ObjectMap::MemberAt(int group, int node) const {
  const std::size_t ring = manifest_->ring;
  const auto at = static_cast<std::size_t>(node);
  if (at >= ring) return manifest_->nodes[at];
  return manifest_->nodes[(static_cast<std::size_t>(group) + at) % ring];
}

int ObjectMap::MemberOf(int group, BlockId block) const {
  return MemberAt(group, geometry_->NodeOf(block));
}

std::uint64_t ObjectMap::Number(int group, BlockId block) const {
  return static_cast<std::uint64_t>(group) *
             static_cast<std::uint64_t>(geometry_->block_id_span()) +
         block;
}

std::optional<ObjectMap::Place> ObjectMap::PlaceOf(std::uint64_t number) const {
  const auto span = static_cast<std::uint64_t>(geometry_->block_id_span());
  const auto block = static_cast<BlockId>(number % span);
  const bool there = number / span < static_cast<std::uint64_t>(groups()) &&
                     geometry_->IsStored(block, width());
  if (!there) return std::nullopt;
  return Place{static_cast<int>(number / span), block};
}

ChangeId ObjectMap::GenerationOf(int group, BlockId block) const {
  if (geometry_->IsData(block)) {
    return manifest_->data.at(DataPosition(*geometry_, group, block));
  }
  return manifest_->parity.at(
      ParityPosition(*geometry_, width(), group, block));
}

std::string ObjectMap::KeyOf(int group, BlockId block) const {
  return KeyOf(GenerationOf(group, block), Number(group, block));
}

std::string ObjectMap::KeyOf(const ChangeId& generation,
                             std::uint64_t number) const {
  return generation == manifest_->id ? BlockKey(key_begin_, number)
                                     : BlockKey(hash_, generation, number);
}

bool Names(const ObjectMap& map, const ObjectMap& old, int group,
           BlockId block) {
  if (!layout::SameButParity(map.manifest().scheme, old.manifest().scheme) ||
      map.manifest().unit != old.manifest().unit || group >= map.groups()) {
    return false;
  }
  if (!map.geometry().IsData(block) &&
      (map.width() != old.width() || !map.geometry().Has(block))) {
    return false;
  }
  return map.GenerationOf(group, block) == old.GenerationOf(group, block);
}

void SetGeneration(const Geometry& geometry, int group, BlockId block,
                   const ChangeId& generation, Manifest& manifest) {
  if (geometry.IsData(block)) {
    manifest.data.Set(DataPosition(geometry, group, block), generation);
  } else {
    manifest.parity.Set(ParityPosition(geometry, manifest.width, group, block),
                        generation);
  }
}

}  // namespace ers::store
