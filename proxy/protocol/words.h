// The words and numbers of a command line.
#ifndef ERS_PROXY_PROTOCOL_WORDS_H_
#define ERS_PROXY_PROTOCOL_WORDS_H_

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

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
  static constexpr std::size_t kMax = 24;

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

// False, with `number` unspecified, unless all of `text` is a decimal number
// that fits, with an optional sign ('-' only where T is signed).
template <typename T>
[[nodiscard]] bool ParseNumber(std::string_view text, T& number) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_WORDS_H_
