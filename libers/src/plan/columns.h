// Plans of groups in columns: a column is read and written whole, and the sums
// are those of its cells.
#ifndef ERS_PLAN_COLUMNS_H_
#define ERS_PLAN_COLUMNS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "layout/geometry.h"
#include "plan/plan.h"
#include "plan/planners.h"

namespace ers::plan {

// All cells of these columns.
std::vector<BlockId> CellsOf(const Geometry& columns,
                             std::span<const BlockId> ids);
Missing CellsOf(const Geometry& columns, const Missing& missing);

// The plan of a group's cells as one of its columns. What is given or written
// of a column has to be all of it.
Plan InColumns(const Geometry& columns, const Plan& cells);

// Of the cells, for what is missing of them.
using CellPlanner = std::function<std::optional<Plan>(const Missing& cells)>;

// Of the plans that `planner` makes the one that reads the fewest cells in
// whole columns, then the fewest columns. It is asked to do without nothing
// more than `missing`, and then without each of `avoided`, which are sets of
// columns, as well.
std::optional<Plan> CheapestInColumns(
    const Geometry& columns, const Missing& missing,
    std::span<const std::vector<BlockId>> avoided, const CellPlanner& planner);

}  // namespace ers::plan

#endif  // ERS_PLAN_COLUMNS_H_
