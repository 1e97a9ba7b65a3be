#include "analysis/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>

namespace ers::analysis {

std::optional<double> Number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string RenderCsv(std::span<const TextRow> rows) {
  std::string out;
  for (const TextRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool quote = row[i].find(',') != std::string::npos;
      if (i > 0) out += ',';
      out += quote ? '"' + row[i] + '"' : row[i];
    }
    out += '\n';
  }
  return out;
}

std::string RenderTable(std::span<const TextRow> rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const TextRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string out;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    // A column's name stands as its first cell does.
    const TextRow& model = rows[n == 0 && rows.size() > 1 ? 1 : n];
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += Number(model[i]).has_value()
                  ? fmt::format("{:>{}}  ", rows[n][i], widths[i])
                  : fmt::format("{:<{}}  ", rows[n][i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

Status Print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0) {
    return {};
  }
  return {StatusCode::kUnavailable, "cannot write to standard output"};
}

}  // namespace ers::analysis
