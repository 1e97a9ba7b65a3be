// ObjectMap: where an object's bytes and blocks are, as its manifest says.
#ifndef ERS_STORE_FORMAT_OBJECT_MAP_H_
#define ERS_STORE_FORMAT_OBJECT_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "layout/geometry.h"
#include "store/format/keys.h"
#include "store/format/manifest.h"

namespace ers::store {

// Immutable; any thread. Not for inline objects or tombstones.
class ObjectMap {
 public:
  explicit ObjectMap(std::shared_ptr<const Manifest> manifest);

  [[nodiscard]] const Manifest& manifest() const { return *manifest_; }
  [[nodiscard]] const layout::Geometry& geometry() const { return *geometry_; }
  [[nodiscard]] const KeyHash& key_hash() const { return hash_; }
  [[nodiscard]] Width width() const { return manifest_->width; }

  [[nodiscard]] int groups() const;
  [[nodiscard]] std::uint64_t GroupOffset(int group) const;
  [[nodiscard]] std::uint64_t GroupLength(int group) const;
  // Payload bytes of a cell: the group's length / l, rounded up.
  [[nodiscard]] std::size_t CellBytes(int group) const;
  // Of a block, which is one cell, or of a column, which is several.
  [[nodiscard]] std::size_t BlockBytes(int group, layout::BlockId block) const;
  // Of each data block: they have the group's bytes in their order, and the
  // last ones are padded with zeros.
  [[nodiscard]] std::size_t DataBytes(int group) const;

  // The member that is node `node` of a group.
  [[nodiscard]] int MemberAt(int group, int node) const;
  // The member that holds a block.
  [[nodiscard]] int MemberOf(int group, layout::BlockId block) const;
  // The number that a block has in its key and header.
  [[nodiscard]] std::uint64_t Number(int group, layout::BlockId block) const;
  // The inverse: null where the object has no block of this number.
  struct Place {
    int group;
    layout::BlockId block;
  };
  [[nodiscard]] std::optional<Place> PlaceOf(std::uint64_t number) const;
  // A block's generation; zero where it was never staged. `block` is a data
  // block or a parity block of the object's width.
  [[nodiscard]] ChangeId GenerationOf(int group, layout::BlockId block) const;
  [[nodiscard]] std::string KeyOf(int group, layout::BlockId block) const;
  // Of a block of that generation and number.
  [[nodiscard]] std::string KeyOf(const ChangeId& generation,
                                  std::uint64_t number) const;

 private:
  std::shared_ptr<const Manifest> manifest_;
  std::shared_ptr<const layout::Geometry> geometry_;
  KeyHash hash_;
  // Of the blocks of the object's last change: most are, and encoding it takes
  // as long as all else of a name.
  std::string key_begin_;
};

// Has `map` the very block that `old` has there; or has, of a block that both
// could have, neither one that was stored?
bool Names(const ObjectMap& map, const ObjectMap& old, int group,
           layout::BlockId block);

// Puts the generation of one block into a manifest of `geometry`.
void SetGeneration(const layout::Geometry& geometry, int group,
                   layout::BlockId block, const ChangeId& generation,
                   Manifest& manifest);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_OBJECT_MAP_H_
