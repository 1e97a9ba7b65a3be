// The header in front of every stored block's payload
// (docs/reference/format.md).
#ifndef ERS_STORE_FORMAT_BLOCK_HEADER_H_
#define ERS_STORE_FORMAT_BLOCK_HEADER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "store/format/change_id.h"

namespace ers::store {

inline constexpr std::size_t kBlockHeaderBytes = 8;
using BlockHeaderBytes = std::array<std::byte, kBlockHeaderBytes>;

// What a block is. Its key says it, and its checksum covers it.
struct BlockHeader {
  ChangeId generation;
  std::uint64_t number = 0;  // group * block ids per group + block id
};

// The header of a block with this payload, checksum included.
BlockHeaderBytes EncodeBlockHeader(const BlockHeader& header,
                                   const std::byte* payload, std::size_t size);

// True when `bytes` is exactly the header of that block and the checksum over
// header and payload holds. A block that fails counts as missing.
bool VerifyBlock(const BlockHeader& expected, const BlockHeaderBytes& bytes,
                 const std::byte* payload, std::size_t size);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_BLOCK_HEADER_H_
