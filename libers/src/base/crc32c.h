// CRC-32C (Castagnoli, RFC 3720), by ISA-L.
#ifndef ERS_BASE_CRC32C_H_
#define ERS_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ers {

// The checksum of `bytes` behind data whose checksum is `before` (0: nothing),
// so that pieces can be chained. Crc32c("123456789") == 0xe3069283.
std::uint32_t Crc32c(const void* bytes, std::size_t size,
                     std::uint32_t before = 0);
inline std::uint32_t Crc32c(std::string_view bytes, std::uint32_t before = 0) {
  return Crc32c(bytes.data(), bytes.size(), before);
}

}  // namespace ers

#endif  // ERS_BASE_CRC32C_H_
