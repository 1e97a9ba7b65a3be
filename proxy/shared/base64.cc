#include "shared/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ers::proxy {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> MakeDigits() {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] =
        static_cast<std::uint8_t>(i);
  }
  return digits;
}
constexpr std::array<std::uint8_t, 256> kDigits = MakeDigits();

}  // namespace

void AppendBase64(std::string_view bytes, std::string& out) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits <<= 8;
      if (j < group.size()) bits |= static_cast<unsigned char>(group[j]);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= group.size() ? kAlphabet[(bits >> (18 - 6 * j)) & 63] : '=';
    }
  }
}

bool DecodeBase64(std::string_view text, std::string& out) {
  if (text.empty() || text.size() % 4 != 0) return false;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  out.clear();
  std::uint32_t bits = 0;
  int held = 0;  // bits that no byte was made of yet
  for (const char c : text) {
    const std::uint8_t digit = kDigits[static_cast<unsigned char>(c)];
    if (digit == kNoDigit) return false;
    bits = bits << 6 | digit;
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xff);
    }
  }
  return true;
}

}  // namespace ers::proxy
