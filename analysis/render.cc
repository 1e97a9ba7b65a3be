#include "analysis/render.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace ers::analysis {
namespace {

// Keys in the order in which they are added, as the columns are.
using Json = nlohmann::ordered_json;

std::vector<TextRow> RowLines(std::span<const Row> rows) {
  std::vector<TextRow> lines = {{"k", "m", "kp", "scheme", "direction",
                                 "variant", "data_reads", "parity_reads",
                                 "reads", "writes", "lower_bound"}};
  for (const Row& row : rows) {
    lines.push_back(
        {std::to_string(row.parameters.k), std::to_string(row.parameters.m),
         std::to_string(row.parameters.kp),
         std::string(SubjectName(row.subject)),
         std::string(DirectionName(row.direction)),
         std::string(VariantName(row.variant)), std::to_string(row.data_reads),
         std::to_string(row.parity_reads), std::to_string(row.reads()),
         std::to_string(row.writes), std::to_string(row.lower_bound)});
  }
  return lines;
}

std::string RowsJson(std::span<const Row> rows) {
  Json array = Json::array();
  for (const Row& row : rows) {
    Json object;
    object["k"] = row.parameters.k;
    object["m"] = row.parameters.m;
    object["kp"] = row.parameters.kp;
    object["scheme"] = SubjectName(row.subject);
    object["direction"] = DirectionName(row.direction);
    object["variant"] = VariantName(row.variant);
    object["data_reads"] = row.data_reads;
    object["parity_reads"] = row.parity_reads;
    object["reads"] = row.reads();
    object["writes"] = row.writes;
    object["lower_bound"] = row.lower_bound;
    array.push_back(std::move(object));
  }
  return array.dump(2) + '\n';
}

std::string Table1Json(std::span<const Cell> cells) {
  Json array = Json::array();
  for (const Cell& cell : cells) {
    Json object;
    object["comparison"] = cell.comparison;
    object["direction"] = DirectionName(cell.direction);
    object["quantity"] = cell.quantity;
    object["paper"] = cell.paper;
    object["computed"] = cell.computed;
    object["differs"] = cell.differs();
    object["optimal"] = cell.optimal;
    array.push_back(std::move(object));
  }
  return array.dump(2) + '\n';
}

}  // namespace

std::string RenderRows(std::span<const Row> rows, Format format) {
  if (format == Format::kJson) return RowsJson(rows);
  const auto lines = RowLines(rows);
  return format == Format::kCsv ? RenderCsv(lines) : RenderTable(lines);
}

std::string RenderTable1(std::span<const Cell> cells, Format format) {
  if (format == Format::kJson) return Table1Json(cells);
  const bool csv = format == Format::kCsv;
  std::vector<TextRow> lines = {{"comparison", "direction", "quantity", "paper",
                                 "computed", "differs", "optimal"}};
  for (const Cell& cell : cells) {
    lines.push_back(
        {cell.comparison, std::string(DirectionName(cell.direction)),
         cell.quantity, cell.paper, cell.computed,
         cell.differs() ? (csv ? "yes" : "<-- differs") : (csv ? "no" : ""),
         cell.optimal});
  }
  return csv ? RenderCsv(lines) : RenderTable(lines);
}

}  // namespace ers::analysis
