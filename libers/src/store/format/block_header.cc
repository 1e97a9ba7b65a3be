#include "store/format/block_header.h"

#include <cstring>
#include <string>

#include "base/crc32c.h"
#include "base/wire.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

constexpr std::string_view kBlockMagic = "eRSb";
constexpr std::uint8_t kFormatVersion = 1;

}  // namespace

BlockHeaderBytes EncodeBlockHeader(const BlockHeader& header,
                                   const std::byte* payload, std::size_t size) {
  std::string out;
  out.reserve(kBlockHeaderBytes);
  WireWriter wire(out);
  wire.PutBytes(kBlockMagic);
  wire.Put(kFormatVersion);
  wire.Put(std::uint8_t{0});
  wire.Put(std::uint16_t{0});
  wire.Put(header.generation.time_us);
  wire.Put(header.generation.nonce);
  wire.Put(header.number);
  wire.Put(static_cast<std::uint32_t>(size));
  wire.Put(Crc32c(payload, size, Crc32c(out)));
  BlockHeaderBytes bytes;
  std::memcpy(bytes.data(), out.data(), kBlockHeaderBytes);
  return bytes;
}

bool VerifyBlock(const BlockHeader& expected, const BlockHeaderBytes& bytes,
                 const std::byte* payload, std::size_t size) {
  if (Planted(PlantedBug::kSkipChecksum)) return true;
  return EncodeBlockHeader(expected, payload, size) == bytes;
}

}  // namespace ers::store
