#include "net/stat_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "net/number.h"

namespace ers::net {

std::optional<std::string_view> Stat(std::string_view lines,
                                     std::string_view name) {
  const std::string wanted = fmt::format("STAT {} ", name);
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1);
    const std::string_view line = lines.substr(0, end);
    if (line.starts_with(wanted)) return line.substr(wanted.size());
    lines.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> StatNumber(std::string_view lines,
                                        std::string_view name) {
  const auto word = Stat(lines, name);
  std::uint64_t number = 0;
  if (!word || !ParseNumber(*word, &number)) return std::nullopt;
  return number;
}

}  // namespace ers::net
