// Little-endian bytes of the stored formats (docs/reference/format.md).
#ifndef ERS_BASE_WIRE_H_
#define ERS_BASE_WIRE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ers {

// How many bytes PutVarint appends.
constexpr std::size_t VarintBytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}
// What PutDistance puts: 0, -1, 1, -2 .. are 0, 1, 2, 3 ..
constexpr std::uint64_t FoldedDistance(std::uint64_t value,
                                       std::uint64_t base) {
  const std::uint64_t up = value - base;
  return (up << 1) ^ (up >> 63 != 0 ? ~std::uint64_t{0} : 0);
}

// Appends to a string it does not own.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  template <std::unsigned_integral T>
  void Put(T value) {
    char bytes[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes[i] = static_cast<char>((value >> (8 * i)) & 0xff);
    }
    out_.append(bytes, sizeof(T));
  }
  // The low `bytes` bytes of it.
  void PutShort(std::uint64_t value, int bytes) {
    char low[sizeof value];
    for (std::size_t i = 0; i < sizeof value; ++i) {
      low[i] = static_cast<char>((value >> (8 * i)) & 0xff);
    }
    out_.append(low, static_cast<std::size_t>(bytes));
  }
  // LEB128: 7 bits a byte, the lowest first; all bytes but the last have 0x80.
  void PutVarint(std::uint64_t value) {
    char digits[10];
    std::size_t count = 0;
    for (; value >= 0x80; value >>= 7) {
      digits[count++] = static_cast<char>((value & 0x7f) | 0x80);
    }
    digits[count++] = static_cast<char>(value);
    out_.append(digits, count);
  }
  // How far `value` is from `base`, as a varint that is short on either side.
  void PutDistance(std::uint64_t value, std::uint64_t base) {
    PutVarint(FoldedDistance(value, base));
  }
  void PutBytes(std::string_view bytes) { out_.append(bytes); }

 private:
  std::string& out_;
};

// Reads from bytes it does not own. Once it runs short every read gives zero
// and ok() stays false, so that a decoder checks once at its end.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T Get() {
    std::string_view taken = GetBytes(sizeof(T));
    T value = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value = static_cast<T>(
          value | static_cast<T>(static_cast<unsigned char>(taken[i]))
                      << (8 * i));
    }
    return value;
  }
  std::uint64_t GetShort(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= std::uint64_t{Get<std::uint8_t>()} << (8 * i);
    }
    return value;
  }
  // Fails, as if it ran short, where PutVarint writes the number otherwise.
  std::uint64_t GetVarint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = Get<std::uint8_t>();
      const std::uint64_t bits = byte & 0x7fU;
      const bool fits = shift < 63 || bits <= 1;
      const bool shortest = byte != 0 || shift == 0;
      if (!fits || !shortest) break;
      value |= bits << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::uint64_t GetDistance(std::uint64_t base) {
    const std::uint64_t folded = GetVarint();
    return base + ((folded >> 1) ^ ((folded & 1) != 0 ? ~std::uint64_t{0} : 0));
  }
  // A view into the source; empty when it runs short.
  std::string_view GetBytes(std::size_t count) {
    if (!ok_ || bytes_.size() < count) {
      ok_ = false;
      return {};
    }
    std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  // What was read cannot be.
  void Refuse() { ok_ = false; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace ers

#endif  // ERS_BASE_WIRE_H_
