#include "analysis/column_counts.h"

#include <optional>
#include <utility>

#include "analysis/json_rows.h"
#include "layout/geometry.h"
#include "plan/planners.h"

namespace ers::analysis {
namespace {

// With nothing missing there is always a plan.
plan::Plan PlanOf(const layout::Geometry& geometry, Direction direction) {
  constexpr auto kOptimal = plan::TransitionVariant::kOptimal;
  return *plan::PlanTransition(
      geometry,
      direction == Direction::kForward ? plan::kForward : plan::kBackward,
      kOptimal, {});
}

int CellsOf(const layout::Geometry& columns,
            const std::vector<layout::BlockId>& ids) {
  int cells = 0;
  for (const layout::BlockId column : ids) cells += columns.cell_count(column);
  return cells;
}

ColumnRow CountOne(const Parameters& parameters, Subject subject,
                   SchemeKind kind, Direction direction) {
  const layout::Geometry columns(
      {kind, parameters.k, parameters.m, parameters.kp}, Unit::kColumns);
  const plan::Plan plan = PlanOf(columns, direction);
  ColumnRow row{parameters, subject, direction};
  row.columns_read = static_cast<int>(plan.reads.size());
  row.cells_read = CellsOf(columns, plan.reads);
  row.blocks_read =
      static_cast<int>(PlanOf(columns.cells(), direction).reads.size());
  row.columns_written = static_cast<int>(plan.writes.size());
  row.cells_written = CellsOf(columns, plan.writes);
  return row;
}

nlohmann::ordered_json JsonOf(const ColumnRow& row) {
  return {{"k", row.parameters.k},
          {"m", row.parameters.m},
          {"kp", row.parameters.kp},
          {"scheme", SubjectName(row.subject)},
          {"direction", DirectionName(row.direction)},
          {"columns_read", row.columns_read},
          {"cells_read", row.cells_read},
          {"blocks_read", row.blocks_read},
          {"columns_written", row.columns_written},
          {"cells_written", row.cells_written}};
}

}  // namespace

Result<std::vector<ColumnRow>> CountColumns(const Parameters& parameters) {
  Status valid = ValidateScheme(
      {SchemeKind::kErs2, parameters.k, parameters.m, parameters.kp});
  if (!valid.ok()) return Fail(std::move(valid));
  std::vector<ColumnRow> rows;
  for (const Direction direction :
       {Direction::kForward, Direction::kBackward}) {
    for (const auto& [subject, kind] : kPlannedKinds) {
      rows.push_back(CountOne(parameters, subject, kind, direction));
    }
  }
  return rows;
}

std::string RenderColumns(const std::vector<ColumnRow>& rows, Format format) {
  return RenderJsonRows(rows, JsonOf, format);
}

}  // namespace ers::analysis
