#include "store/format/block_header.h"

#include <concepts>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

constexpr std::string_view kBlockMagic = "eRSb";
constexpr std::uint8_t kFormatVersion = 1;
constexpr std::size_t kVersionAndReserved = 4;

// As WireWriter does, into memory that is there: one for every block.
template <std::unsigned_integral T>
void Put(T value, std::byte** at) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    *(*at)++ = static_cast<std::byte>(value >> (8 * i) & 0xff);
  }
}

}  // namespace

BlockHeaderBytes EncodeBlockHeader(const BlockHeader& header,
                                   const std::byte* payload, std::size_t size) {
  BlockHeaderBytes bytes{};
  std::memcpy(bytes.data(), kBlockMagic.data(), kBlockMagic.size());
  std::byte* at = bytes.data() + kBlockMagic.size();
  *at = std::byte{kFormatVersion};
  at += kVersionAndReserved;
  Put(header.generation.time_us, &at);
  Put(header.generation.nonce, &at);
  Put(header.number, &at);
  Put(static_cast<std::uint32_t>(size), &at);
  const auto before = static_cast<std::size_t>(at - bytes.data());
  Put(Crc32c(payload, size, Crc32c(bytes.data(), before)), &at);
  return bytes;
}

bool VerifyBlock(const BlockHeader& expected, const BlockHeaderBytes& bytes,
                 const std::byte* payload, std::size_t size) {
  if (Planted(PlantedBug::kSkipChecksum)) return true;
  return EncodeBlockHeader(expected, payload, size) == bytes;
}

}  // namespace ers::store
