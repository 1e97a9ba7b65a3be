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
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace ers

#endif  // ERS_BASE_WIRE_H_
