// What a line of text can hold.
#ifndef ERS_PROXY_SHARED_PLAIN_TEXT_H_
#define ERS_PROXY_SHARED_PLAIN_TEXT_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace ers::proxy {

constexpr bool IsControl(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

// Appends `text` with blanks for control characters: it stays one line.
inline void AppendOneLine(std::string_view text, std::string& out) {
  for (const char c : text) out += IsControl(c) ? ' ' : c;
}

// "1 object", "2 objects".
inline std::string CountText(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count);
  text.append(1, ' ').append(noun);
  return count == 1 ? text : text + 's';
}
// "1 object is", "2 objects are".
inline std::string CountIsText(std::uint64_t count, std::string_view noun) {
  return CountText(count, noun) + (count == 1 ? " is" : " are");
}

// A key that is no word of a line: binary and base64 keys may be any bytes. It
// is shown, and given, in base64.
inline bool NeedsBase64(std::string_view key) {
  return std::any_of(key.begin(), key.end(),
                     [](char c) { return c == ' ' || IsControl(c); });
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_PLAIN_TEXT_H_
