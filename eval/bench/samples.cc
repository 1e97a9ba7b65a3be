#include "bench/samples.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

namespace ers::bench {
namespace {

using analysis::TextRow;

std::string Json(std::span<const TextRow> lines) {
  auto array = nlohmann::ordered_json::array();
  for (const TextRow& line : lines.subspan(1)) {
    nlohmann::ordered_json object;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto number = analysis::Number(line[i]);
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

std::string Render(std::span<const TextRow> lines, Format format) {
  switch (format) {
    case Format::kCsv:
      return analysis::RenderCsv(lines);
    case Format::kJson:
      return Json(lines);
    case Format::kTable:
      return analysis::RenderTable(lines);
  }
  return {};
}

}  // namespace ers::bench
