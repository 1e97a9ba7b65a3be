// Manifest: the one item per replica that says what an object is and where its
// blocks are. Bytes in docs/reference/format.md, pinned by tests/unit/store.
#ifndef ERS_STORE_FORMAT_MANIFEST_H_
#define ERS_STORE_FORMAT_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ers/scheme.h"
#include "ers/status.h"
#include "store/format/change_id.h"
#include "store/format/generation_map.h"

namespace ers::store {

inline constexpr std::uint8_t kManifestFormatVersion = 4;
inline constexpr std::uint8_t kPackedFormatVersion = 5;  // of packed values
// A manifest remembers so many changes before; with its value in it, as many as
// take so few bytes, and the last one.
inline constexpr std::size_t kHistoryLength = 8;
inline constexpr std::size_t kInlineHistoryBytes = 12;

// A value type.
struct Manifest {
  // The copy: whose it is. With another incarnation it counts as absent.
  std::uint16_t member = 0;
  std::uint64_t incarnation = 0;
  // Its change is known to be committed: any replica's word is enough.
  bool confirmed = false;

  // The change.
  ChangeId id;
  std::vector<ChangeTag> history;  // of the changes before, newest first
  bool tombstone = false;

  // The object. A tombstone has only its key and a CAS, which later lives of
  // the key stay above.
  std::string key;
  Scheme scheme;
  Width width = Width::kNarrow;
  std::uint64_t length = 0;
  std::uint32_t client_flags = 0;
  std::uint64_t cas = 0;
  std::int64_t expiry = 0;  // Unix seconds, 0 never
  bool stale = false;       // see ObjectInfo
  bool won = false;
  bool is_inline = false;  // it has no blocks of its own
  std::string value;       // when inline, and not packed
  // When inline: the pack that has the value, and where in it. None: `value`.
  ChangeId pack;
  std::uint64_t pack_offset = 0;

  // The blocks, when not inline.
  // They may outlive the object: its life was changed once they were stored.
  // Then its manifests have no end either, so that they are found and dropped.
  bool outlived = false;
  Unit unit = Unit::kBlocks;
  std::uint64_t group_bytes = 0;
  // Members round the ring: node c of group g is nodes[(g + c) % ring], and
  // nodes[c] from `ring` on: those came with parity that was added later.
  std::vector<std::uint16_t> nodes;
  std::uint16_t ring = 0;
  GenerationMap data;    // by group * data blocks per group + j
  GenerationMap parity;  // by group * parity blocks per group + ParityRank

  [[nodiscard]] bool is_packed() const { return bool(pack); }
  // Did change `other` come to be, as far as this manifest's memory reaches?
  [[nodiscard]] bool Remembers(const ChangeId& other) const;
};

// The bytes that a history takes in the manifest of change `id`.
std::size_t HistoryBytes(const ChangeId& id,
                         const std::vector<ChangeTag>& history);

std::string EncodeManifest(const Manifest& manifest);

// The copies of one manifest: they differ in whose they are.
class ManifestCopies {
 public:
  // Whose copy the manifest is says nothing. It outlives this.
  explicit ManifestCopies(const Manifest& manifest);
  [[nodiscard]] std::string For(int member, std::uint64_t incarnation) const;

 private:
  const std::string& key_;
  const bool named_;  // the item's key is a hashed name
  const std::uint8_t version_;
  std::uint8_t flags_;
  std::string rest_;  // behind whose it is, without the checksum
};

// Of the item under `item_key` (ManifestKey). kNotManaged: not one of ours
// (wrong magic). kUnsupportedFormat: an older or newer version. kCorruption:
// checksum or contents are broken, or it was another key's.
Result<Manifest> DecodeManifest(std::string_view item_key,
                                std::string_view bytes);

// The checksum that an encoded manifest ends with.
std::uint32_t ChecksumOf(std::string_view encoded);

// Would an item of these bytes be taken for a manifest, of whatever version?
bool BeginsAsManifest(std::string_view bytes);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_MANIFEST_H_
