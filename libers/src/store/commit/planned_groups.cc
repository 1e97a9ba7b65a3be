#include "store/commit/planned_groups.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "store/blocks/object_writer.h"
#include "store/commit/change.h"
#include "store/format/expiry.h"
#include "store/membership/view_changer.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;

constexpr std::size_t kPlansAtOnce = 2;

// One group's new parity from what is stored.
struct PlannedGroup {
  std::unique_ptr<PlanExecutor> run;
  int group = 0;
  Status status;
  net::Latch done;
  explicit PlannedGroup(net::Runtime& runtime) : done(runtime, 1) {}
};

class PlannedGroups {
 public:
  PlannedGroups(Session& session, const ObjectMap& map,
                const PlanExecutor::Planner& planner, Manifest& next,
                StepTimer* steps)
      : session_(session),
        steps_(steps),
        map_(map),
        planner_(planner),
        next_(next),
        staging_{next.id, BlockExptime(next.expiry, session.WallMicros())} {}

  Task<void> Run() {
    for (int group = 0; group < map_.groups() && outcome_.status.ok();
         ++group) {
      auto& one = under_way_.emplace_back(
          std::make_unique<PlannedGroup>(session_.runtime()));
      one->group = group;
      one->run = std::make_unique<PlanExecutor>(session_, map_, group,
                                                /*writing=*/true, steps_);
      net::Spawn(RunGroup(*one));
      if (under_way_.size() == kPlansAtOnce) co_await FinishOldest();
    }
    while (!under_way_.empty()) co_await FinishOldest();
    co_await MarkFailed(session_, epoch_, failed_members_);
    const ObjectMap after(std::make_shared<const Manifest>(next_));
    for (int group = 0; group < map_.groups() && outcome_.status.ok();
         ++group) {
      outcome_.status = CheckRedundancy(session_, after, group);
    }
  }
  PlannedOutcome& outcome() { return outcome_; }

 private:
  Task<void> RunGroup(PlannedGroup& one) {
    one.status = co_await one.run->Run(planner_, &staging_);
    one.done.CountDown();
  }

  Task<void> FinishOldest() {
    PlannedGroup& one = *under_way_.front();
    co_await one.done;
    if (outcome_.status.ok()) outcome_.status = one.status;
    outcome_.traffic += one.run->traffic();
    failed_members_.insert(one.run->failed_members().begin(),
                           one.run->failed_members().end());
    for (const BlockId block : one.run->unstaged()) {
      SetGeneration(map_.geometry(), one.group, block, ChangeId{}, next_);
    }
    under_way_.erase(under_way_.begin());
  }

  Session& session_;
  const std::uint64_t epoch_ = session_.view()->epoch;
  StepTimer* const steps_;
  const ObjectMap& map_;
  const PlanExecutor::Planner& planner_;
  Manifest& next_;
  const Staging staging_;
  std::vector<std::unique_ptr<PlannedGroup>> under_way_;
  std::set<int> failed_members_;
  PlannedOutcome outcome_;
};

}  // namespace

Task<PlannedOutcome> RunPlans(Session& session, const ObjectMap& map,
                              const PlanExecutor::Planner& planner,
                              Manifest& next, StepTimer* steps) {
  PlannedGroups groups(session, map, planner, next, steps);
  co_await groups.Run();
  co_return std::move(groups.outcome());
}

}  // namespace ers::store
