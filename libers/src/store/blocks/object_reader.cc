#include "store/blocks/object_reader.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "store/blocks/block_repair.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;

// Enough to keep every server busy while one group's last blocks are awaited.
constexpr int kReadAtOnce = 4;

// The part of a range that lies in one group.
struct GroupPart {
  int group;
  std::uint64_t begin;  // within the group
  std::uint64_t end;
  std::byte* into;
};

// Blocks that lie whole in the part are read straight to their place.
std::vector<BlockId> PlaceBlocks(const GroupPart& part, BlockBuffers& buffers) {
  std::vector<BlockId> wanted;
  const std::uint64_t block = buffers.data_bytes();
  for (std::uint64_t j = part.begin / block; j * block < part.end; ++j) {
    const auto id = static_cast<BlockId>(j);
    wanted.push_back(id);
    if (j * block >= part.begin && (j + 1) * block <= part.end) {
      buffers.Place(id, part.into + (j * block - part.begin));
    }
  }
  return wanted;
}

// The others are copied from the memory of the pool.
void CopyEdges(const GroupPart& part, const std::vector<BlockId>& wanted,
               const BlockBuffers& buffers) {
  const std::uint64_t block = buffers.data_bytes();
  for (const BlockId id : wanted) {
    const std::uint64_t start = id * block;
    if (start >= part.begin && start + block <= part.end) continue;
    const std::uint64_t from = std::max(start, part.begin);
    const std::uint64_t to = std::min(start + block, part.end);
    std::memcpy(part.into + (from - part.begin),
                buffers.Have(id) + (from - start), to - from);
  }
}

Task<ReadOutcome> ReadPart(Session& session, const ObjectMap& map,
                           const GroupPart& part, StepTimer* steps,
                           Decoded decoded) {
  ReadOutcome outcome;
  BlockBuffers buffers(session.buffers(), map, part.group);
  const std::vector<BlockId> wanted = PlaceBlocks(part, buffers);
  PlanExecutor run({session, map, part.group, steps}, buffers, nullptr);
  const Planner planner = [&](const plan::Missing& missing) {
    return plan::PlanGet(map.geometry(), map.width(), wanted, missing);
  };
  outcome.status = co_await run.Run(planner);
  outcome.traffic = run.traffic();
  if (!outcome.status.ok()) co_return outcome;
  CopyEdges(part, wanted, buffers);
  outcome.degraded = run.degraded();
  if (!run.gone().empty() && decoded == Decoded::kWrittenBack) {
    co_await RepairBlocks(session, map, part.group, run, run.gone());
    outcome.repaired = static_cast<int>(run.written().stored().size());
  }
  co_return outcome;
}

// Takes parts from the front until none is left or one failed.
Task<void> Work(Session& session, const ObjectMap& map,
                const std::vector<GroupPart>& parts, std::size_t& next,
                ReadOutcome& all, StepTimer* steps, Decoded decoded,
                net::Latch& latch) {
  while (next < parts.size() && all.status.ok()) {
    const GroupPart& part = parts[next++];
    ReadOutcome one = co_await ReadPart(session, map, part, steps, decoded);
    if (all.status.ok()) all.status = std::move(one.status);
    all.degraded |= one.degraded;
    all.repaired += one.repaired;
    all.traffic += one.traffic;
  }
  latch.CountDown();
}

}  // namespace

Task<ReadOutcome> ReadRange(Session& session, const ObjectMap& map,
                            std::uint64_t offset, std::uint64_t length,
                            std::byte* into, StepTimer* steps,
                            Decoded decoded) {
  std::vector<GroupPart> parts;
  const std::uint64_t size = map.manifest().group_bytes;
  for (std::uint64_t at = offset; at < offset + length;) {
    const std::uint64_t start = at / size * size;
    const std::uint64_t end = std::min(start + size, offset + length);
    parts.push_back({static_cast<int>(at / size), at - start, end - start,
                     into + (at - offset)});
    at = end;
  }
  ReadOutcome all;
  const int workers =
      std::min<int>(kReadAtOnce, static_cast<int>(parts.size()));
  std::size_t next = 0;
  net::Latch latch(session.runtime(), workers);
  for (int i = 0; i < workers; ++i) {
    net::Spawn(Work(session, map, parts, next, all, steps, decoded, latch));
  }
  co_await latch;
  co_return all;
}

Task<Result<std::vector<std::byte>>> ReadWhole(
    Session& session, std::shared_ptr<const Manifest> manifest,
    StepTimer* steps) {
  if (manifest->is_inline) {
    const auto text = std::as_bytes(std::span(manifest->value));
    co_return std::vector<std::byte>(text.begin(), text.end());
  }
  std::vector<std::byte> value(manifest->length);
  const ObjectMap map(std::move(manifest));
  const ReadOutcome read =
      co_await ReadRange(session, map, 0, value.size(), value.data(), steps);
  session.counters().degraded_reads.Add(read.degraded);
  if (!read.status.ok()) co_return Fail(read.status);
  co_return value;
}

}  // namespace ers::store
