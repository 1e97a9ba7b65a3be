// Block keys and hashed names, read back.
#ifndef ERS_STORE_FORMAT_BLOCK_NAME_H_
#define ERS_STORE_FORMAT_BLOCK_NAME_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/format/keys.h"

namespace ers::store {

// What a block's key says.
struct BlockName {
  KeyHash hash;
  ChangeId generation;
  std::uint64_t number = 0;
};
// Empty where BlockKey writes no such key.
std::optional<BlockName> ParseBlockKey(std::string_view item_key);

// The hash in the hashed name of a manifest; empty where it is none.
std::optional<KeyHash> HashOfHashedName(std::string_view item_key);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_BLOCK_NAME_H_
