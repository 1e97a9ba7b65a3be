#include "store/format/item_line.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace ers::store {
namespace {

// Behind `name` and its "="; empty: it is not there.
std::string_view WordOf(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (word.size() > name.size() && word.starts_with(name) &&
        word[name.size()] == '=') {
      return word.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

std::string KeyOfLine(std::string_view line) {
  const std::string_view text = WordOf(line, "key");
  std::string key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 3], code, 16).ptr ==
            &text[i + 3]) {
      key.push_back(static_cast<char>(code));
      i += 2;
    } else {
      key.push_back(text[i]);
    }
  }
  return key;
}

std::optional<std::int64_t> FieldOfLine(std::string_view line,
                                        std::string_view name) {
  const std::string_view text = WordOf(line, name);
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace ers::store
