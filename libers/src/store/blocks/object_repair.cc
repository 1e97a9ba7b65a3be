#include "store/blocks/object_repair.h"

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "plan/planners.h"
#include "store/blocks/block_repair.h"
#include "store/format/block_header.h"
#include "store/format/change_age.h"
#include "store/format/expiry.h"
#include "store/membership/batch.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;

// A connection that only broke is made again.
constexpr int kProbeTries = 3;

struct Probe {
  BlockId block = 0;
  int member = 0;
  std::string key;
  net::Request request;
};

bool MayRetry(const net::ServerLink& link) {
  return link.state() == net::ServerLink::State::kUp ||
         link.state() == net::ServerLink::State::kConnecting;
}

Task<void> Ask(Session& session, std::deque<Probe>& probes) {
  Batch batch(session.runtime());
  for (int i = 0; i < kProbeTries; ++i) {
    bool sent = false;
    for (Probe& probe : probes) {
      net::ServerLink& link = session.link(probe.member);
      const bool first = i == 0;
      if (!first && (net::Answered(probe.request.outcome) || !MayRetry(link))) {
        continue;
      }
      batch.Send(SendStep::kProbe, link, probe.request);
      sent = true;
    }
    if (!sent) co_return;
    co_await batch;
  }
}

// At most, of the blocks that are read and of those that are made of them.
std::uint64_t BytesOf(const ObjectMap& map, int group) {
  std::uint64_t bytes = 0;
  for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
    bytes += map.BlockBytes(group, block);
  }
  return bytes;
}

}  // namespace

std::vector<BlockId> Lacking::All() const {
  std::vector<BlockId> blocks = lost;
  blocks.insert(blocks.end(), never.begin(), never.end());
  blocks.insert(blocks.end(), wrong.begin(), wrong.end());
  return blocks;
}

Task<Result<std::vector<BlockId>>> FindLost(Session& session,
                                            const ObjectMap& map, int group,
                                            const std::vector<BlockId>& blocks,
                                            std::set<int>& silent) {
  std::deque<Probe> probes;
  for (const BlockId block : blocks) {
    Probe& probe = probes.emplace_back();
    probe.block = block;
    probe.member = map.MemberOf(group, block);
    probe.key = map.KeyOf(group, block);
    probe.request.verb = net::Verb::kHead;
    probe.request.key = probe.key;
    probe.request.no_bump = true;
  }
  co_await Ask(session, probes);
  const std::int64_t now = session.WallMicros();
  std::vector<BlockId> lost;
  std::string why;
  for (const Probe& probe : probes) {
    if (!net::Answered(probe.request.outcome)) {
      silent.insert(probe.member);
      why = session.Describe(probe.member);
      continue;
    }
    const bool there =
        probe.request.outcome == net::Outcome::kOk &&
        probe.request.item_bytes ==
            map.BlockBytes(group, probe.block) + kBlockHeaderBytes &&
        !EndsBefore(probe.request.item_ttl, map.manifest().expiry, now);
    if (!there) lost.push_back(probe.block);
  }
  if (!why.empty()) co_return Fail(StatusCode::kUnavailable, std::move(why));
  co_return lost;
}

ObjectRepair::ObjectRepair(Session& session,
                           std::shared_ptr<const Manifest> base,
                           const ChangeId& generation, const RepairTerms& terms)
    : session_(session),
      map_(std::move(base)),
      terms_(terms),
      next_(map_.manifest()) {
  next_.id = generation;
}

Task<Status> ObjectRepair::Run() {
  for (int group = 0; group < map_.groups(); ++group) {
    if (terms_.pace != nullptr) {
      (void)co_await terms_.pace->Await(terms_.stop, commit_by_);
    }
    // Not before it, which may take hours: others could wait as long.
    BoundedMemory::Share memory(terms_.memory);
    co_await memory.Take(BytesOf(map_, group));
    if (terms_.stop != nullptr && terms_.stop->stopped()) {
      co_return Status(StatusCode::kUnavailable, "the repair was stopped");
    }
    if (session_.runtime().Now() >= commit_by_) {
      unfinished_ = true;
      co_return Status();
    }
    const Result<Lacking> lacking = co_await terms_.find(map_, group);
    if (!lacking) co_return lacking.error();
    if (lacking->All().empty()) continue;
    Status status = co_await RepairGroup(group, *lacking);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Task<Status> ObjectRepair::RepairGroup(int group, const Lacking& lacking) {
  BlockBuffers buffers(session_.buffers(), map_, group);
  PlanExecutor run({session_, map_, group, terms_.steps}, buffers, nullptr);
  const std::vector<BlockId> wanted = lacking.All();
  const Planner planner = [&](const plan::Missing& missing) {
    return plan::PlanRebuild(map_.geometry(), map_.width(), wanted, missing);
  };
  Status status = co_await run.Run(planner);
  if (status.ok()) status = co_await StoreBlocks(group, lacking, run);
  const BlockTraffic traffic = run.traffic();
  traffic_ += traffic;
  if (terms_.pace != nullptr) {
    terms_.pace->Spend(traffic.bytes_read + traffic.bytes_written);
  }
  co_return status;
}

Task<Status> ObjectRepair::StoreBlocks(int group, const Lacking& lacking,
                                       PlanExecutor& run) {
  std::vector<BlockId> again = lacking.lost;
  again.insert(again.end(), lacking.wrong.begin(), lacking.wrong.end());
  co_await RepairBlocks(session_, map_, group, run, again);
  const BlockWriter& written = run.written();
  const std::size_t restored = written.stored().size();
  restored_ += static_cast<int>(restored);
  if (!lacking.never.empty()) {
    if (!next_.id) {
      next_.id = session_.NewChangeId();
      commit_by_ = session_.runtime().Now() + ChangeTimeout() / 2;
    }
    co_await run.WriteBack(SendStep::kComplete, lacking.never, next_.id);
    for (const BlockId block : lacking.never) {
      SetGeneration(map_.geometry(), group, block, next_.id, next_);
    }
    completed_ += static_cast<int>(lacking.never.size());
  }
  if (written.stored().size() == lacking.All().size()) co_return Status();
  if (!written.refusal().ok()) co_return written.refusal();
  failed_.insert(written.failed_members().begin(),
                 written.failed_members().end());
  std::string why = "not all blocks were stored";
  for (const int member : written.failed_members()) {
    why += "; " + session_.Describe(member);
  }
  co_return Status(StatusCode::kUnavailable, std::move(why));
}

}  // namespace ers::store
