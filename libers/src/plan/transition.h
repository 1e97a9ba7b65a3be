// What transitions to wider, to narrower and to another m have in common. Old
// and new stripes cut the same data in two ways, and an old stripe's blocks
// hold its own data alone; so each old stripe is planned by itself: how its
// share in the new parity is had for the fewest reads. Where there is to be
// more parity than is stored, no fewer than k blocks of it do: what is new is
// independent of what is there.
#ifndef ERS_PLAN_TRANSITION_H_
#define ERS_PLAN_TRANSITION_H_

#include <functional>
#include <optional>

#include "layout/geometry.h"
#include "plan/availability.h"
#include "plan/overlap.h"
#include "plan/plan.h"
#include "plan/planners.h"

namespace ers::plan {

// For an old stripe: the blocks left unread because its old parity, which is
// read instead, carries them over. nullopt: its data is read instead.
using Rule = std::function<std::optional<Overlap>(int old_stripe)>;

}  // namespace ers::plan

#endif  // ERS_PLAN_TRANSITION_H_
