#include "store/objects/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_cache.h"
#include "store/blocks/object_placement.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

using layout::BlockId;
using layout::Geometry;
using net::Task;

// Nodes behind the ring: no block that is there may get another member.
void AddNodes(Session& session, Manifest& next) {
  const auto needed = static_cast<std::size_t>(NodeCount(next.scheme));
  if (next.nodes.size() >= needed) return;
  std::set<int> taken(next.nodes.begin(), next.nodes.end());
  const std::vector<int> walk =
      session.ring().Walk(next.key, session.members());
  for (const bool writable : {true, false}) {
    for (const int member : walk) {
      if (next.nodes.size() >= needed) return;
      if (session.Writable(member) != writable) continue;
      if (!taken.insert(member).second) continue;
      next.nodes.push_back(static_cast<std::uint16_t>(member));
    }
  }
}

// Of an object that was `old`, in another form: what is of both stays, `added`
// is the generation of the rest.
GenerationMap ParityOf(const ObjectMap& old, const Manifest& form,
                       const ChangeId& added) {
  const auto geometry = layout::GetGeometry(form.scheme, form.unit);
  GenerationMap parity;
  std::uint32_t size = 0;
  for (int group = 0; group < old.groups(); ++group) {
    for (int p = 0; p < geometry->scheme().m; ++p) {
      for (int stripe = 0; stripe < geometry->stripe_count(form.width);
           ++stripe) {
        const BlockId block = geometry->ParityId(form.width, stripe, p);
        const bool stays =
            form.width == old.width() && old.geometry().Has(block);
        parity.Resize(++size, stays ? old.GenerationOf(group, block) : added);
      }
    }
  }
  return parity;
}

// What is stored, with a place for the parity that `next` has more: there it
// was never stored.
ObjectMap WithRoomFor(const Manifest& next, const ObjectMap& old) {
  if (next.scheme.m <= old.manifest().scheme.m) return old;
  Manifest there = old.manifest();
  there.scheme.m = next.scheme.m;
  there.nodes = next.nodes;
  there.parity = ParityOf(old, there, ChangeId{});
  return ObjectMap(std::make_shared<const Manifest>(std::move(there)));
}

// "a:1, b:1".
std::string NotInSync(const Session& session, const View& view) {
  std::string names;
  for (int i = 0; i < session.members(); ++i) {
    const MemberState state = view.members[static_cast<std::size_t>(i)].state;
    if (state == MemberState::kInSync && session.Writable(i)) continue;
    names += (names.empty() ? "" : ", ") + session.member_name(i);
  }
  return names.empty() ? "when it was written" : names;
}

// OK, or kUnavailable: of some stripe more blocks than m are on servers that
// are out or not in sync, or were never stored.
Status CheckKept(Session& session, const ObjectMap& map) {
  const Geometry& geometry = map.geometry();
  const std::shared_ptr<const View> view = session.view();
  const auto lacks = [&](int group, BlockId block) {
    const int member = map.MemberOf(group, block);
    return !map.GenerationOf(group, block) || !session.Writable(member) ||
           view->members[static_cast<std::size_t>(member)].state !=
               MemberState::kInSync;
  };
  const int m = geometry.scheme().m;
  for (int group = 0; group < map.groups(); ++group) {
    for (int stripe = 0; stripe < geometry.stripe_count(map.width());
         ++stripe) {
      int absent = 0;
      for (const BlockId block : geometry.StripeData(map.width(), stripe)) {
        absent += static_cast<int>(lacks(group, block));
      }
      for (int p = 0; p < m; ++p) {
        const BlockId block = geometry.ParityId(map.width(), stripe, p);
        absent += static_cast<int>(lacks(group, block));
      }
      if (absent <= m) continue;
      return {
          StatusCode::kUnavailable,
          fmt::format("{} blocks of a stripe are on servers that are out "
                      "or not in sync yet ({}), and scheme {} can do without "
                      "{}: before parity is dropped, start what does not "
                      "answer, and wait until all are in sync",
                      absent, NotInSync(session, *view),
                      FormatScheme(geometry.scheme()), m)};
    }
  }
  return {};
}

}  // namespace

Task<PlannedOutcome> StageInPlace(Session& session,
                                  std::shared_ptr<const Manifest> base,
                                  TransitionVariant variant, Manifest& next,
                                  StepTimer* steps) {
  PlannedOutcome outcome;
  plan::FormChange change{{base->width, base->scheme.m},
                          {next.width, next.scheme.m}};
  const bool grows = change.to.m > change.from.m;
  if (Planted(PlantedBug::kOldMOnly) && change.from.width != change.to.width) {
    change.to.m = std::min(change.from.m, change.to.m);
  }
  if (grows) {
    outcome.status = CheckServers(session, next.scheme);
    if (!outcome.status.ok()) {
      next.length = 0;  // a process that drops it must find nothing
      co_return std::move(outcome);
    }
    AddNodes(session, next);
  }
  const ObjectMap old(std::move(base));
  next.parity = ParityOf(old, next, next.id);
  const bool only_drops = !grows && change.from.width == change.to.width;
  if (only_drops) co_return std::move(outcome);
  const ObjectMap map = WithRoomFor(next, old);
  const Planner planner = [&](plan::Missing missing) {
    // That parity which is to be made was never stored goes without saying.
    std::erase_if(missing.blocks,
                  [&old](BlockId block) { return !old.geometry().Has(block); });
    if (missing.blocks.empty() && missing.dead_nodes.empty()) {
      return std::optional(
          *plan::CachedTransitionPlan(map.geometry(), change, variant));
    }
    return plan::PlanTransition(map.geometry(), change, variant, missing);
  };
  outcome = co_await RunPlans(session, map, planner, next, steps);
  co_return std::move(outcome);
}

Check WithoutDropped(Session& session, std::shared_ptr<const Manifest> next,
                     Check check) {
  return [&session, next = std::move(next),
          check = std::move(check)](const Manifest* living) -> Result<Verdict> {
    Result<Verdict> verdict = check(living);
    if (!verdict || *verdict == Verdict::kRestart) return verdict;
    Status kept = CheckKept(session, ObjectMap(next));
    if (!kept.ok()) return Fail(std::move(kept));
    return verdict;
  };
}

}  // namespace ers::store
