// Transitions of groups in columns: which columns need not be read.
#ifndef ERS_PLAN_COLUMN_TRANSITION_H_
#define ERS_PLAN_COLUMN_TRANSITION_H_

#include <optional>

#include "layout/geometry.h"
#include "plan/columns.h"
#include "plan/plan.h"
#include "plan/planners.h"

namespace ers::plan {

// The plan of the fewest bytes from one form to another, where nothing is
// missing and the group has up to 256 cells. Else the better one of reading
// as few cells as can be, and of reading the data. `planner` plans the cells.
std::optional<Plan> PlanColumnTransition(const Geometry& columns,
                                         const FormChange& change,
                                         const Missing& missing,
                                         const CellPlanner& planner);

}  // namespace ers::plan

#endif  // ERS_PLAN_COLUMN_TRANSITION_H_
