#include "store/blocks/missing_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace ers::store {

using layout::BlockId;

MissingBlocks::MissingBlocks(const BlockGroup& group, bool writing)
    : group_(group) {
  const ObjectMap& map = group_.map;
  const Session& session = group_.session;
  for (int node = 0; node < map.geometry().node_count(); ++node) {
    const int member = map.MemberAt(group_.group, node);
    if (writing ? session.Writable(member) : session.Readable(member)) {
      continue;
    }
    missing_.dead_nodes.push_back(node);
    silent_members_.insert(member);
  }
  const auto whole = [](const GenerationMap& generations) {
    return std::all_of(generations.runs().begin(), generations.runs().end(),
                       [](const auto& run) { return bool(run.generation); });
  };
  if (whole(map.manifest().data) && whole(map.manifest().parity)) return;
  for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
    if (!map.GenerationOf(group_.group, block)) never_staged_.push_back(block);
  }
  missing_.blocks = never_staged_;
}

void MissingBlocks::SetGone(BlockId block) {
  missing_.blocks.push_back(block);
  gone_.push_back(block);
}

void MissingBlocks::SetDamaged(BlockId block) {
  SetGone(block);
  damaged_.push_back(block);
}

void MissingBlocks::SetSilent(BlockId block, int member) {
  missing_.blocks.push_back(block);
  silent_members_.insert(member);
}

bool MissingBlocks::Has(BlockId block) const {
  const auto& nodes = missing_.dead_nodes;
  const auto& blocks = missing_.blocks;
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end() ||
         std::find(nodes.begin(), nodes.end(),
                   group_.map.geometry().NodeOf(block)) != nodes.end();
}

bool MissingBlocks::ReadBy(const plan::Plan& plan) const {
  return std::any_of(plan.reads.begin(), plan.reads.end(),
                     [this](BlockId block) { return Has(block); });
}

bool MissingBlocks::RecoveredBy(const plan::Plan& plan) const {
  const layout::Geometry& geometry = group_.map.geometry();
  const auto missing_data = [&](BlockId block) {
    return geometry.IsData(block) && Has(block);
  };
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [&](const plan::Step& step) {
                       return std::any_of(step.outputs.begin(),
                                          step.outputs.end(), missing_data);
                     });
}

Status MissingBlocks::Shortage(const Planner& planner) const {
  plan::Missing lost;
  lost.blocks = never_staged_;
  for (const BlockId block : gone_) {
    if (std::find(damaged_.begin(), damaged_.end(), block) == damaged_.end()) {
      lost.blocks.push_back(block);
    }
  }
  const std::string& key = group_.map.manifest().key;
  if (!planner(lost)) {
    return {StatusCode::kNotFound,
            fmt::format("key '{}': more blocks are gone than the redundancy "
                        "can replace",
                        key)};
  }
  lost.blocks.insert(lost.blocks.end(), damaged_.begin(), damaged_.end());
  if (!planner(lost)) {
    return {StatusCode::kCorruption,
            fmt::format("key '{}': more blocks are damaged or gone than the "
                        "redundancy can replace; delete or overwrite the "
                        "object",
                        key)};
  }
  std::string silent;
  for (const int member : silent_members_) {
    silent += (silent.empty() ? "" : "; ") + group_.session.Describe(member);
  }
  return {StatusCode::kUnavailable,
          fmt::format("key '{}': too many servers are silent to read the "
                      "object ({}): start what does not answer",
                      key, silent)};
}

}  // namespace ers::store
