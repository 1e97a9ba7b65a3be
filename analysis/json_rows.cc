#include "analysis/json_rows.h"

#include <cassert>

namespace ers::analysis {

using nlohmann::ordered_json;

std::string RenderJsonRows(const std::vector<ordered_json>& rows,
                           Format format) {
  assert(!rows.empty());
  if (format == Format::kJson) return ordered_json(rows).dump(2) + '\n';
  std::vector<TextRow> lines(1);
  for (const auto& [name, value] : rows.front().items()) {
    lines.front().push_back(name);
  }
  for (const ordered_json& row : rows) {
    TextRow& line = lines.emplace_back();
    for (const auto& [name, value] : row.items()) {
      line.push_back(value.is_string() ? value.get<std::string>()
                                       : value.dump());
    }
  }
  return format == Format::kCsv ? RenderCsv(lines) : RenderTable(lines);
}

}  // namespace ers::analysis
