#include "store/commit/planned_groups.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "store/blocks/block_buffers.h"
#include "store/blocks/object_placement.h"
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
  PlannedGroup(const BlockGroup& of, const Staging& staging)
      : group(of.group),
        buffers(of.session.buffers(), of.map, of.group),
        run(of, buffers, &staging),
        done(of.session.runtime(), 1) {}

  const int group;
  BlockBuffers buffers;
  PlanExecutor run;
  Status status;
  net::Latch done;
};

class PlannedGroups {
 public:
  PlannedGroups(Session& session, const ObjectMap& map, const Planner& planner,
                Manifest& next, StepTimer* steps)
      : session_(session),
        steps_(steps),
        map_(map),
        planner_(planner),
        next_(next),
        staging_{next.id, BlockExptime(next.expiry, session.WallMicros())} {}

  Task<void> Run() {
    for (int group = 0; group < map_.groups() && outcome_.status.ok();
         ++group) {
      const BlockGroup of{session_, map_, group, steps_};
      auto& one =
          under_way_.emplace_back(std::make_unique<PlannedGroup>(of, staging_));
      net::Spawn(RunGroup(*one));
      if (under_way_.size() == kPlansAtOnce) co_await FinishOldest();
    }
    while (!under_way_.empty()) co_await FinishOldest();
    co_await MarkFailed(session_, epoch_, failed_members_);
    if (outcome_.status.ok()) outcome_.status = Check(next_);
    if (outcome_.status.ok() && !gone_.empty() && !Check(WithoutGone()).ok()) {
      outcome_.status = {
          StatusCode::kUnavailable,
          fmt::format("key '{}': so many blocks of a stripe are gone that "
                      "scheme {} could not do without them: store them anew "
                      "first (`ersctl verify --repair`)",
                      next_.key, FormatScheme(next_.scheme))};
    }
  }
  PlannedOutcome& outcome() { return outcome_; }

 private:
  [[nodiscard]] Status Check(const Manifest& manifest) const {
    const ObjectMap after(std::make_shared<const Manifest>(manifest));
    for (int group = 0; group < after.groups(); ++group) {
      Status left = CheckRedundancy(session_, after, group);
      if (!left.ok()) return left;
    }
    return {};
  }

  // As if what servers answered not to have had never been stored.
  [[nodiscard]] Manifest WithoutGone() const {
    Manifest without = next_;
    for (const auto& [group, block] : gone_) {
      SetGeneration(*geometry_, group, block, ChangeId{}, without);
    }
    return without;
  }

  Task<void> RunGroup(PlannedGroup& one) {
    one.status = co_await one.run.Run(planner_);
    one.done.CountDown();
  }

  Task<void> FinishOldest() {
    PlannedGroup& one = *under_way_.front();
    co_await one.done;
    if (outcome_.status.ok()) outcome_.status = one.status;
    outcome_.traffic += one.run.traffic();
    const BlockWriter& written = one.run.written();
    failed_members_.insert(written.failed_members().begin(),
                           written.failed_members().end());
    for (const BlockId block : written.left_out()) {
      SetGeneration(*geometry_, one.group, block, ChangeId{}, next_);
    }
    for (const BlockId block : one.run.gone()) {
      const bool stays = geometry_->IsStored(block, next_.width);
      if (stays) gone_.emplace_back(one.group, block);
    }
    under_way_.erase(under_way_.begin());
  }

  Session& session_;
  const std::uint64_t epoch_ = session_.view()->epoch;
  StepTimer* const steps_;
  const ObjectMap& map_;
  const Planner& planner_;
  Manifest& next_;
  // Of `next`, whose m may be another one.
  const std::shared_ptr<const layout::Geometry> geometry_ =
      layout::GetGeometry(next_.scheme, next_.unit);
  const Staging staging_;
  std::vector<std::unique_ptr<PlannedGroup>> under_way_;
  std::vector<std::pair<int, BlockId>> gone_;  // with their groups
  std::set<int> failed_members_;
  PlannedOutcome outcome_;
};

}  // namespace

Task<PlannedOutcome> RunPlans(Session& session, const ObjectMap& map,
                              const Planner& planner, Manifest& next,
                              StepTimer* steps) {
  PlannedGroups groups(session, map, planner, next, steps);
  co_await groups.Run();
  co_return std::move(groups.outcome());
}

}  // namespace ers::store
