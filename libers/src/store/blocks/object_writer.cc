#include "store/blocks/object_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ers/options.h"
#include "store/blocks/object_placement.h"
#include "store/format/expiry.h"

namespace ers::store {
namespace {

using net::Task;

// Groups under way at a time: one is filled while another is sent.
constexpr std::size_t kWriteAtOnce = 2;

// The content's next part, and how much of it is there.
struct NextPart {
  std::span<const std::byte> bytes;
  std::size_t filled = 0;
};

// Whole where its length is not known: that decides what its blocks are.
Task<Result<NextPart>> TakePart(Content& content, std::size_t max_bytes) {
  const std::optional<std::uint64_t> left = content.Left();
  if (!left) {
    const Result<std::span<const std::byte>> bytes =
        co_await content.Next(max_bytes);
    if (!bytes) co_return Fail(bytes.error());
    co_return NextPart{*bytes, bytes->size()};
  }
  if (*left == 0) co_return NextPart();
  const Result<std::span<const std::byte>> bytes = content.Open(max_bytes);
  if (!bytes) co_return Fail(bytes.error());
  const Result<std::size_t> filled = co_await content.Fill();
  if (!filled) co_return Fail(filled.error());
  co_return NextPart{*bytes, *filled};
}

}  // namespace

Task<WriteOutcome> WriteGroups(Session& session, Content& content,
                               int first_group, Manifest& manifest,
                               StepTimer* steps) {
  const Staging staging{manifest.id,
                        BlockExptime(manifest.expiry, session.WallMicros())};
  const auto geometry = layout::GetGeometry(manifest.scheme, manifest.unit);
  const auto data = static_cast<std::uint32_t>(geometry->data_blocks());
  const auto parity =
      static_cast<std::uint32_t>(geometry->parity_blocks(manifest.width));
  GroupPipeline writes(session, content, staging, manifest, steps);
  WriteOutcome& outcome = writes.outcome();
  outcome.epoch = session.view()->epoch;
  std::uint64_t length =
      static_cast<std::uint64_t>(first_group) * manifest.group_bytes;
  for (int group = first_group; outcome.status.ok(); ++group) {
    const Result<NextPart> part =
        co_await TakePart(content, manifest.group_bytes);
    if (!part) outcome.status = part.error();
    if (!part || part->bytes.empty()) break;
    length += part->bytes.size();
    if (length > kMaxValueBytes) {
      outcome.status =
          Status(StatusCode::kTooLarge,
                 fmt::format("the value is over {} MiB, the largest there is",
                             kMaxValueBytes >> 20));
      break;
    }
    const auto groups = static_cast<std::uint32_t>(group) + 1;
    manifest.length = length;
    manifest.data.Resize(groups * data, manifest.id);
    manifest.parity.Resize(groups * parity, manifest.id);
    writes.Start(group, part->bytes, part->filled);
    if (part->filled < part->bytes.size()) {
      Status filled = co_await writes.FillLast(part->filled);
      if (!filled.ok()) outcome.status = std::move(filled);
    }
    if (part->bytes.size() < manifest.group_bytes) break;
    co_await writes.AwaitFewer(kWriteAtOnce);
  }
  co_await writes.AwaitFewer(1);
  if (outcome.status.ok()) {
    writes.ForgetLost(first_group);
    const auto final_manifest = std::make_shared<const Manifest>(manifest);
    const ObjectMap map(final_manifest);
    for (int group = first_group; outcome.status.ok() && group < map.groups();
         ++group) {
      outcome.status = CheckRedundancy(
          session, map, group, session.cluster().options.min_redundancy);
    }
  }
  co_return std::move(outcome);
}

}  // namespace ers::store
