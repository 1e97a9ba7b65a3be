// The content of a pack: small values of several keys behind each other
// (docs/reference/format.md, docs/internals/packs.md).
#ifndef ERS_STORE_FORMAT_PACK_H_
#define ERS_STORE_FORMAT_PACK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"

namespace ers::store {

// Of keys and values.
inline constexpr std::size_t kMaxPackBytes = std::size_t{1} << 20;
// In front of the directory.
inline constexpr std::size_t kPackHeaderBytes = 8;

struct PackEntry {
  std::string key;
  std::uint64_t length = 0;
  std::uint64_t offset = 0;  // of the value, in the pack
};

// Gives the entries their offsets. What a pack begins with, in front of the
// values, which follow in the same order.
std::string EncodePackDirectory(std::vector<PackEntry>& entries);

// How many bytes that is, of a pack that begins so (kPackHeaderBytes or more).
// kUnsupportedFormat, kCorruption.
Result<std::size_t> PackDirectoryBytes(std::string_view begin);

// Of a pack of `length` bytes, as it begins: all of its directory.
// kUnsupportedFormat, kCorruption.
Result<std::vector<PackEntry>> DecodePackDirectory(std::string_view directory,
                                                   std::uint64_t length);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_PACK_H_
