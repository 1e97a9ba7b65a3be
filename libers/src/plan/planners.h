// The planners, one source file each. All are pure and total: any validated
// scheme, any width, any set of missing nodes. Where the missing nodes leave
// too few blocks they say so instead of a plan. The plan of a group in columns
// is that of its cells, in whole columns (columns.h).
#ifndef ERS_PLAN_PLANNERS_H_
#define ERS_PLAN_PLANNERS_H_

#include <optional>
#include <span>

#include "layout/geometry.h"
#include "plan/plan.h"

namespace ers::plan {

using ers::TransitionVariant;
using layout::BlockId;
using layout::Geometry;

// The stored blocks that cannot be read. Planners never read these, and never
// write a block whose node is in `dead_nodes`.
struct Missing {
  std::vector<BlockId> blocks;  // gone or unreadable, on whatever node
  std::vector<int> dead_nodes;  // every block on them is missing too
};

// To a wider or to a narrower stripe.
struct WidthChange {
  Width from;
  Width to;
};
// From the first width to the last, and back.
inline constexpr WidthChange kForward{Width::kNarrow, Width::kWide};
inline constexpr WidthChange kBackward{Width::kWide, Width::kNarrow};

// What is stored of a group beside its data: parity of stripes of this width,
// of each the blocks below m, which is at most that of the geometry.
struct Form {
  Width width;
  int m;

  bool operator==(const Form&) const = default;
};
// What a transition does.
struct FormChange {
  Form from;
  Form to;
};

// Given all l data blocks: every parity of `width`. Writes all but the blocks
// of missing nodes.
Plan PlanPut(const Geometry& geometry, Width width, const Missing& missing);

// Reads what gives `wanted` (data blocks), the fewest blocks: wanted ones that
// are there come as reads, missing ones as step outputs. No writes.
// nullopt: some wanted block cannot be had from what is left.
std::optional<Plan> PlanGet(const Geometry& geometry, Width width,
                            std::span<const BlockId> wanted,
                            const Missing& missing);

// New parity after data blocks `touched` get new content. `keep` are those of
// them whose old content the caller needs too, to overlay a part: they come as
// reads or, when missing, as step outputs with reads alone as inputs. Chooses
// the cheaper of delta and re-encoding per stripe. `given` == touched.
std::optional<Plan> PlanUpdate(const Geometry& geometry, Width width,
                               std::span<const BlockId> touched,
                               std::span<const BlockId> keep,
                               const Missing& missing);

// From one form to another, not the same (asserted): of another width (elastic
// schemes only), of another m, or both at once. Outputs and writes are the
// parity that is new, drops what the new form does not have. Where the width
// stays, so does the parity that both have.
std::optional<Plan> PlanTransition(const Geometry& geometry,
                                   const FormChange& change,
                                   TransitionVariant variant,
                                   const Missing& missing);
// Of another width alone, with all of the geometry's m.
std::optional<Plan> PlanTransition(const Geometry& geometry, WidthChange change,
                                   TransitionVariant variant,
                                   const Missing& missing);

// Recomputes `lost` (data or parity blocks of `width`), fewest reads; they are
// the outputs and writes.
std::optional<Plan> PlanRebuild(const Geometry& geometry, Width width,
                                std::span<const BlockId> lost,
                                const Missing& missing);

ReadCount CountReads(const Geometry& geometry, const Plan& plan);

}  // namespace ers::plan

#endif  // ERS_PLAN_PLANNERS_H_
