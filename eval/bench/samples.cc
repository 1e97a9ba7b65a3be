#include "bench/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace ers::bench {
namespace {

using Line = std::vector<std::string>;

std::optional<double> Number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string Csv(std::span<const Line> lines) {
  std::string out;
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool quote = line[i].find(',') != std::string::npos;
      if (i > 0) out += ',';
      out += quote ? '"' + line[i] + '"' : line[i];
    }
    out += '\n';
  }
  return out;
}

std::string Table(std::span<const Line> lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string out;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = lines[n][i];
      // A column's name stands as its first cell does.
      const Line& model = lines[n == 0 && lines.size() > 1 ? 1 : n];
      text += Number(model[i]).has_value()
                  ? fmt::format("{:>{}}  ", cell, widths[i])
                  : fmt::format("{:<{}}  ", cell, widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

std::string Json(std::span<const Line> lines) {
  auto array = nlohmann::ordered_json::array();
  for (const Line& line : lines.subspan(1)) {
    nlohmann::ordered_json object;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto number = Number(line[i]);
      if (number.has_value()) {
        object[lines[0][i]] = *number;
      } else {
        object[lines[0][i]] = line[i];
      }
    }
    array.push_back(std::move(object));
  }
  return array.dump(2) + '\n';
}

}  // namespace

Spread Summarise(std::vector<double> samples) {
  assert(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  const double median = samples.size() % 2 == 1
                            ? samples[half]
                            : (samples[half - 1] + samples[half]) / 2;
  return {.median = median, .min = samples.front(), .max = samples.back()};
}

std::string Render(std::span<const std::vector<std::string>> lines,
                   Format format) {
  switch (format) {
    case Format::kCsv:
      return Csv(lines);
    case Format::kJson:
      return Json(lines);
    case Format::kTable:
      return Table(lines);
  }
  return {};
}

}  // namespace ers::bench
