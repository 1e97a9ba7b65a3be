#include "store/format/block_header.h"

#include "base/crc32c.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

constexpr std::array<char, 4> kMagicAndVersion = {'e', 'R', 'b', 2};

template <typename T>
std::byte* PutLittleEndian(T value, std::byte* to) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    *to++ = static_cast<std::byte>(value >> (8 * i));
  }
  return to;
}

// Behind the bytes by which its key says what the block is.
std::uint32_t Checksum(const BlockHeader& header, const std::byte* payload,
                       std::size_t size) {
  std::array<std::byte, 3 * sizeof(std::uint64_t)> name;
  std::byte* at = PutLittleEndian(header.generation.time_us, name.data());
  at = PutLittleEndian(header.generation.nonce, at);
  PutLittleEndian(header.number, at);
  return Crc32c(payload, size, Crc32c(name.data(), name.size()));
}

}  // namespace

BlockHeaderBytes EncodeBlockHeader(const BlockHeader& header,
                                   const std::byte* payload, std::size_t size) {
  BlockHeaderBytes bytes;
  for (std::size_t i = 0; i < kMagicAndVersion.size(); ++i) {
    bytes[i] = static_cast<std::byte>(kMagicAndVersion[i]);
  }
  PutLittleEndian(Checksum(header, payload, size),
                  bytes.data() + kMagicAndVersion.size());
  return bytes;
}

bool VerifyBlock(const BlockHeader& expected, const BlockHeaderBytes& bytes,
                 const std::byte* payload, std::size_t size) {
  if (Planted(PlantedBug::kSkipChecksum)) return true;
  return EncodeBlockHeader(expected, payload, size) == bytes;
}

}  // namespace ers::store
