#include "plan/columns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ers::plan {
namespace {

// Columns in the order in which their cells are first named, and the place of
// each.
class Columns {
 public:
  Columns(const Geometry& columns, std::span<const BlockId> cells)
      : columns_(columns),
        places_(static_cast<std::size_t>(columns.block_id_count()), kNone) {
    for (const BlockId cell : cells) {
      const BlockId column = columns.ColumnOf(cell).column;
      if (places_[column] != kNone) continue;
      places_[column] = static_cast<std::uint32_t>(ids_.size());
      ids_.push_back(column);
    }
  }

  [[nodiscard]] std::uint32_t PlaceOf(BlockId cell) const {
    return places_[columns_.ColumnOf(cell).column];
  }
  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(ids_.size());
  }
  [[nodiscard]] std::vector<BlockId> Take() && { return std::move(ids_); }

 private:
  static constexpr auto kNone = static_cast<std::uint32_t>(-1);

  const Geometry& columns_;
  std::vector<BlockId> ids_;
  std::vector<std::uint32_t> places_;  // by column
};

std::uint16_t CellAt(const Geometry& columns, BlockId cell) {
  return static_cast<std::uint16_t>(columns.ColumnOf(cell).at);
}

// Does `next` sum the same columns as `step`, and the cells behind its own?
bool Continues(const Step& step, const Step& next) {
  if (next.inputs != step.inputs || next.outputs != step.outputs ||
      next.coefficients != step.coefficients) {
    return false;
  }
  const auto follow = [&step](const std::vector<std::uint16_t>& cells,
                              const std::vector<std::uint16_t>& behind) {
    return std::equal(cells.begin(), cells.end(), behind.begin(),
                      [&step](std::uint16_t a, std::uint16_t b) {
                        return a + step.cells == b;
                      });
  };
  return follow(step.input_cells, next.input_cells) &&
         follow(step.output_cells, next.output_cells);
}

std::vector<BlockId> ColumnsOf(const Geometry& columns,
                               std::span<const BlockId> cells) {
  return Columns(columns, cells).Take();
}

// Cells of all that the plan, of columns, reads.
std::size_t CellsRead(const Geometry& columns, const Plan& plan) {
  std::size_t cells = 0;
  for (const BlockId column : plan.reads) {
    cells += static_cast<std::size_t>(columns.cell_count(column));
  }
  return cells;
}

}  // namespace

std::vector<BlockId> CellsOf(const Geometry& columns,
                             std::span<const BlockId> ids) {
  std::vector<BlockId> cells;
  for (const BlockId id : ids) {
    const std::vector<BlockId> more = columns.CellsOf(id);
    cells.insert(cells.end(), more.begin(), more.end());
  }
  return cells;
}

Missing CellsOf(const Geometry& columns, const Missing& missing) {
  return {CellsOf(columns, missing.blocks), missing.dead_nodes};
}

Plan InColumns(const Geometry& columns, const Plan& cells) {
  Columns reads(columns, cells.reads);
  Columns given(columns, cells.given);
  Plan plan;
  for (const Step& of : cells.steps) {
    Step step;
    step.coefficients = of.coefficients;
    for (const std::uint32_t input : of.inputs) {
      const bool is_read = input < cells.reads.size();
      const BlockId cell = is_read ? cells.reads[input]
                                   : cells.given[input - cells.reads.size()];
      step.inputs.push_back(is_read ? reads.PlaceOf(cell)
                                    : reads.size() + given.PlaceOf(cell));
      step.input_cells.push_back(CellAt(columns, cell));
    }
    for (const BlockId cell : of.outputs) {
      step.outputs.push_back(columns.ColumnOf(cell).column);
      step.output_cells.push_back(CellAt(columns, cell));
    }
    if (!plan.steps.empty() && Continues(plan.steps.back(), step)) {
      ++plan.steps.back().cells;
    } else {
      plan.steps.push_back(std::move(step));
    }
  }
  plan.reads = std::move(reads).Take();
  plan.given = std::move(given).Take();
  plan.writes = ColumnsOf(columns, cells.writes);
  plan.unwritten = ColumnsOf(columns, cells.unwritten);
  plan.drops = ColumnsOf(columns, cells.drops);
  return plan;
}

std::optional<Plan> CheapestInColumns(
    const Geometry& columns, const Missing& missing,
    std::span<const std::vector<BlockId>> avoided, const CellPlanner& planner) {
  const auto plan_without = [&](const std::vector<BlockId>& more) {
    Missing without = missing;
    without.blocks.insert(without.blocks.end(), more.begin(), more.end());
    const std::optional<Plan> cells = planner(CellsOf(columns, without));
    return cells ? std::optional(InColumns(columns, *cells)) : std::nullopt;
  };
  const auto cost = [&](const Plan& plan) {
    return std::pair(CellsRead(columns, plan), plan.reads.size());
  };
  std::optional<Plan> best = plan_without({});
  for (const std::vector<BlockId>& more : avoided) {
    std::optional<Plan> plan = plan_without(more);
    if (plan && (!best || cost(*plan) < cost(*best))) best = std::move(plan);
  }
  return best;
}

}  // namespace ers::plan
