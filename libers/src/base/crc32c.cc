#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace ers {

std::uint32_t Crc32c(const void* bytes, std::size_t size,
                     std::uint32_t before) {
  // ISA-L takes a non-const pointer and an int length, and reads only.
  auto* at = static_cast<unsigned char*>(const_cast<void*>(bytes));
  constexpr std::size_t kMax = std::size_t{1} << 30;
  std::uint32_t crc = ~before;
  while (size > 0) {
    const std::size_t piece = std::min(size, kMax);
    crc = crc32_iscsi(at, static_cast<int>(piece), crc);
    at += piece;
    size -= piece;
  }
  return ~crc;
}

}  // namespace ers
