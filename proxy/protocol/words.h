// The words and numbers of a command line.
#ifndef ERS_PROXY_PROTOCOL_WORDS_H_
#define ERS_PROXY_PROTOCOL_WORDS_H_

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace ers::proxy {

// Takes the next word from the front of `line`; empty where there is none.
// Only blanks separate words.
inline std::string_view TakeWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// A line cut into words. Views into the line.
class Words {
 public:
  // As many as memcached takes of one line: no command has more, but for the
  // keys of a get, which are not cut here.
  static constexpr std::size_t kMax = 23;

  explicit Words(std::string_view line) {
    while (size_ < kMax) {
      const std::string_view word = TakeWord(line);
      if (word.empty()) break;
      words_[size_++] = word;
    }
  }

  // At most kMax, also of a longer line.
  [[nodiscard]] std::size_t size() const { return size_; }
  // The word, or "" behind the last.
  std::string_view operator[](std::size_t i) const {
    return i < size_ ? words_[i] : std::string_view();
  }
  [[nodiscard]] std::string_view last() const {
    return size_ == 0 ? std::string_view() : words_[size_ - 1];
  }

 private:
  std::array<std::string_view, kMax> words_;
  std::size_t size_ = 0;
};

// White space as memcached's numbers take it (isspace of the C locale).
constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A number as memcached 1.6.18 reads it (strtoull, strtoll): white space, a
// sign, digits, and behind them the end or white space, whatever follows that.
// For an unsigned T a negative number is one only where it wraps around to less
// than 2^63. False, with `number` unspecified, where there is none that fits.
template <typename T>
[[nodiscard]] bool ParseNumber(std::string_view text, T& number) {
  const auto first = std::find_if_not(text.begin(), text.end(), IsSpace);
  text.remove_prefix(static_cast<std::size_t>(first - text.begin()));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::uint64_t size = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, size);
  if (result.ec != std::errc()) return false;
  if (result.ptr != end && !IsSpace(*result.ptr)) return false;
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const std::uint64_t value = negative ? 0 - size : size;
  if constexpr (std::is_signed_v<T>) {
    if (size > kSign - (negative ? 0 : 1)) return false;
    const auto whole = static_cast<std::int64_t>(value);
    number = static_cast<T>(whole);
    return number == whole;
  } else {
    const bool minus = negative || text.find('-') != text.npos;
    if (value >= kSign && minus) return false;
    number = static_cast<T>(value);
    return number == value;
  }
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_WORDS_H_
