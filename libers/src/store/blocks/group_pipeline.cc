#include "store/blocks/group_pipeline.h"

#include <utility>

namespace ers::store {

using layout::BlockId;
using net::Task;

// The map is of this group alone, in the manifest as it is now.
GroupPipeline::Write::Write(Session& session, const Manifest& manifest,
                            int group, std::span<const std::byte> bytes,
                            std::size_t filled, const Staging& staging,
                            StepTimer* steps)
    : put(session,
          std::make_shared<const ObjectMap>(
              std::make_shared<const Manifest>(manifest)),
          group, bytes, filled, staging, steps) {}

GroupPipeline::GroupPipeline(Session& session, Content& content,
                             const Staging& staging, Manifest& manifest,
                             StepTimer* steps)
    : session_(session),
      content_(content),
      staging_(staging),
      manifest_(manifest),
      steps_(steps) {}

void GroupPipeline::Start(int group, std::span<const std::byte> bytes,
                          std::size_t filled) {
  Write& write = writes_.emplace_back(session_, manifest_, group, bytes, filled,
                                      staging_, steps_);
  net::Spawn(Run(write));
}

Task<Status> GroupPipeline::FillLast(std::size_t filled) {
  GroupPut& put = writes_.back().put;
  while (filled < put.bytes().size()) {
    const Result<std::size_t> now = co_await content_.Fill();
    if (!now || *now == filled) {
      put.Abandon();
      co_return now ? Status(StatusCode::kInvalidArgument,
                             "the value is shorter than it was said to be")
                    : now.error();
    }
    filled = *now;
    put.Fill(filled);
  }
  co_return Status();
}

Task<void> GroupPipeline::AwaitFewer(std::size_t count) {
  while (writes_.size() >= count) {
    net::Latch latch(session_.runtime(), 1);
    waiter_ = &latch;
    co_await latch;
  }
}

void GroupPipeline::ForgetLost(int first_group) {
  std::set<int> lost;
  for (const std::uint16_t member : manifest_.nodes) {
    if (!session_.Writable(member)) lost.insert(member);
  }
  if (lost.empty()) return;
  const ObjectMap map(std::make_shared<const Manifest>(manifest_));
  for (int group = first_group; group < map.groups(); ++group) {
    for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
      if (!lost.contains(map.MemberOf(group, block))) continue;
      SetGeneration(map.geometry(), group, block, ChangeId{}, manifest_);
    }
  }
  outcome_.failed_members.merge(lost);
}

Task<void> GroupPipeline::Run(Write& write) {
  write.status = co_await write.put.Run();
  write.done = true;
  while (!writes_.empty() && writes_.front().done) FinishOldest();
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->CountDown();
}

void GroupPipeline::FinishOldest() {
  const Write& write = writes_.front();
  const BlockWriter& written = write.put.written();
  if (outcome_.status.ok()) outcome_.status = write.status;
  outcome_.traffic += written.traffic();
  outcome_.failed_members.insert(written.failed_members().begin(),
                                 written.failed_members().end());
  for (const BlockId block : written.left_out()) {
    SetGeneration(write.put.map().geometry(), write.put.group(), block,
                  ChangeId{}, manifest_);
  }
  writes_.pop_front();
  content_.Release();
}

}  // namespace ers::store
