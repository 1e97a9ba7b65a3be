// The names of everything the store keeps on servers
// (docs/reference/format.md).
#ifndef ERS_STORE_FORMAT_KEYS_H_
#define ERS_STORE_FORMAT_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ers/status.h"
#include "store/format/change_id.h"

namespace ers::store {

// Every key of the store's own begins with this; objects whose key begins so,
// too, are kept under "ers!k" + hash.
inline constexpr std::string_view kReservedPrefix = "ers!";
inline constexpr std::string_view kViewKey = "ers!view";
inline constexpr std::string_view kBootKey = "ers!boot";
inline constexpr std::string_view kParticipantsKey = "ers!peers";
inline constexpr std::string_view kEntryPrefix = "ers!p.";
inline constexpr std::string_view kSparePrefix = "ers!spare";
inline constexpr std::string_view kPackPrefix = "ers!pack.";

// XXH3-128 of the object's key.
struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const KeyHash&) const = default;
};
KeyHash HashKey(std::string_view key);

// OK for 1..250 bytes without spaces, control characters or DEL; else
// kInvalidArgument saying what is wrong with which byte.
Status ValidateKey(std::string_view key, bool any_bytes = false);

// Where the manifest of a valid key lives: the key itself, or a hashed
// name where that is reserved or holds blanks or control characters.
std::string ManifestKey(std::string_view key);
bool HasHashedName(std::string_view key);

// Writes block keys of one object: "ers!b" + base64url(hash) + "." +
// base64url(generation) + "." + hex(number).
std::string BlockKey(const KeyHash& hash, const ChangeId& generation,
                     std::uint64_t number);
// The same in two parts: what the blocks of one generation have in common, and
// the number.
std::string BlockKeyBegin(const KeyHash& hash, const ChangeId& generation);
std::string BlockKey(std::string_view begin, std::uint64_t number);

// What a block's key says.
struct BlockName {
  KeyHash hash;
  ChangeId generation;
  std::uint64_t number = 0;
};
// Empty where BlockKey writes no such key.
std::optional<BlockName> ParseBlockKey(std::string_view item_key);

// Where the entry of the participant of that id lies: kEntryPrefix + 16 digits,
// lower-case hex.
std::string EntryKey(std::uint64_t id);

// The key of the object that is the pack of that id.
std::string PackKey(const ChangeId& pack);
// Empty where PackKey writes no such key.
std::optional<ChangeId> PackOfKey(std::string_view key);
inline bool IsPackKey(std::string_view key) {
  return PackOfKey(key).has_value();
}

// The hash in the hashed name of a manifest; empty where it is none.
std::optional<KeyHash> HashOfHashedName(std::string_view item_key);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_KEYS_H_
