// Bringing one object back to all its redundancy on a member that was away.
#include <deque>
#include <utility>
#include <vector>

#include "plan/planners.h"
#include "store/batch.h"
#include "store/block_header.h"
#include "store/change.h"
#include "store/dropping.h"
#include "store/home_chain.h"
#include "store/object_map.h"
#include "store/planted_bug.h"
#include "store/repair.h"
#include "store/store.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

// A rival each time: then somebody else is at work on the object.
constexpr int kMendTries = 64;

// Blocks of one group that a member should have and has not.
struct Lacking {
  std::vector<BlockId> lost;   // it had them
  std::vector<BlockId> never;  // they were never stored: it was away

  [[nodiscard]] std::vector<BlockId> all() const {
    std::vector<BlockId> blocks = lost;
    blocks.insert(blocks.end(), never.begin(), never.end());
    return blocks;
  }
};

Task<Result<Lacking>> FindLacking(Session& session, const ObjectMap& map,
                                  int group, int member) {
  struct Probe {
    BlockId block = 0;
    std::string key;
    net::Request request;
  };
  Lacking lacking;
  std::deque<Probe> probes;
  Batch batch(session.runtime());
  for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
    if (map.MemberOf(group, block) != member) continue;
    if (!map.GenerationOf(group, block)) {
      lacking.never.push_back(block);
      continue;
    }
    Probe& probe = probes.emplace_back();
    probe.block = block;
    probe.key = map.KeyOf(group, block);
    probe.request.verb = net::Verb::kHead;
    probe.request.key = probe.key;
    probe.request.uncounted = true;
    batch.Submit(session.link(member), probe.request);
  }
  co_await batch;
  for (const Probe& probe : probes) {
    if (!net::Answered(probe.request.outcome)) {
      co_return Fail(StatusCode::kUnavailable, session.Describe(member));
    }
    const bool there =
        probe.request.outcome == net::Outcome::kOk &&
        probe.request.item_bytes == map.BlockBytes(group) + kBlockHeaderBytes;
    if (!there) lacking.lost.push_back(probe.block);
  }
  co_return lacking;
}

// One object's mending. `next` is what its manifest will be where blocks that
// were never stored are, now.
class Mending {
 public:
  Mending(Session& session, ManifestPtr base, int member)
      : session_(session),
        base_(std::move(base)),
        map_(base_),
        member_(member),
        next_(*base_) {
    next_.id = session.change_ids().Next();
  }

  Task<Status> Run() {
    for (int group = 0; group < map_.groups(); ++group) {
      const Result<Lacking> lacking =
          co_await FindLacking(session_, map_, group, member_);
      if (!lacking) co_return lacking.error();
      if (lacking->lost.empty() && lacking->never.empty()) continue;
      Status status = co_await MendGroup(group, *lacking);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

  [[nodiscard]] Manifest& next() { return next_; }
  [[nodiscard]] bool completes() const { return completed_ > 0; }
  [[nodiscard]] int blocks() const { return restored_ + completed_; }

 private:
  Task<Status> MendGroup(int group, const Lacking& lacking) {
    GroupRun run(session_, map_, group, /*writing=*/false, nullptr);
    const std::vector<BlockId> wanted = lacking.all();
    const GroupRun::Planner planner = [&](const plan::Missing& missing) {
      return plan::PlanRebuild(map_.geometry(), map_.width(), wanted, missing);
    };
    Status status = co_await run.Run(planner, nullptr);
    if (!status.ok()) co_return status;
    co_await RestoreBlocks(session_, map_, group, run, lacking.lost);
    const std::size_t restored = run.staged().size();
    restored_ += static_cast<int>(restored);
    if (!lacking.never.empty()) {
      co_await run.WriteBack(lacking.never, next_.id);
      for (const BlockId block : lacking.never) {
        SetGeneration(map_.geometry(), group, block, next_.id, next_);
      }
      completed_ += static_cast<int>(lacking.never.size());
    }
    const bool all = run.staged().size() == wanted.size();
    co_return all
        ? Status()
        : Status(StatusCode::kUnavailable,
                 "not all blocks were stored: " + session_.Describe(member_));
  }

  Session& session_;
  const ManifestPtr base_;
  const ObjectMap map_;
  const int member_;
  Manifest next_;
  int restored_ = 0;
  int completed_ = 0;
};

}  // namespace

Task<Result<Mended>> Store::Mend(std::string_view key, int member) {
  HomeChain chain(session_, key, steps_);
  chain.ReadUncounted();
  ChangeId short_before;
  for (int i = 0; i < kMendTries; ++i) {
    const Result<HomesRead> homes = co_await chain.ReadSettled();
    if (!homes) co_return Fail(homes.error());
    const ManifestPtr base = homes->judge().manifest;
    const bool has_blocks = base && chain.Alive(*base) && !base->is_inline;
    if (!has_blocks || Planted(PlantedBug::kFillManifestsOnly)) {
      co_return Mended{chain.settled(), 0};
    }
    Mending mending(session_, base, member);
    Status status = co_await mending.Run();
    if (!status.ok()) {
      if (mending.completes()) DropStaged(session_, mending.next());
      // A change may have dropped the blocks under the read.
      const bool short_now = status.code() == StatusCode::kNotFound;
      if (!short_now || short_before == base->id) {
        co_return Fail(std::move(status));
      }
      short_before = base->id;
      continue;
    }
    if (!mending.completes()) {
      co_return Mended{chain.settled(), mending.blocks()};
    }
    const Check check = PlannedOn(base->id);
    const ChangeOutcome outcome =
        co_await CommitChange(session_, chain, std::move(mending.next()),
                              ClientCas::kStays, std::nullopt, check);
    if (outcome.restart) continue;
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    co_return Mended{chain.settled(), mending.blocks()};
  }
  co_return Fail(StatusCode::kUnavailable,
                 "the object is changed by others without end");
}

}  // namespace ers::store
