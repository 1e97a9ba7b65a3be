#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "store/commit/current.h"
#include "store/format/block_header.h"
#include "store/format/keys.h"
#include "store/format/object_map.h"
#include "store/membership/batch.h"
#include "store/objects/store.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;

struct Probe {
  BlockState state;
  int member = 0;
  bool asked = false;
  std::string key;
  net::Request request;
};

Probe MakeProbe(Session& session, const ObjectMap& map, int group,
                BlockId block) {
  const layout::BlockInfo info = map.geometry().Info(block, map.width());
  Probe probe;
  probe.member = map.MemberOf(group, block);
  probe.asked = bool(map.GenerationOf(group, block));
  if (probe.asked) probe.key = map.KeyOf(group, block);
  probe.state.group = group;
  probe.state.block = static_cast<int>(block);
  probe.state.kind = info.kind == layout::BlockKind::kData
                         ? StoredBlockKind::kData
                         : StoredBlockKind::kParity;
  probe.state.stripe = info.stripe;
  probe.state.node = info.node;
  probe.state.server = session.member_name(probe.member);
  probe.state.bytes = map.BlockBytes(group, block);
  return probe;
}

// One group at a time keeps the requests under way within bounds.
Task<void> ProbeGroup(Session& session, const ObjectMap& map, int group,
                      std::vector<BlockState>& blocks) {
  std::deque<Probe> probes;
  Batch batch(session.runtime());
  for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
    Probe& probe = probes.emplace_back(MakeProbe(session, map, group, block));
    if (!probe.asked || !session.Readable(probe.member)) continue;
    probe.request.verb = net::Verb::kHead;
    probe.request.key = probe.key;
    probe.request.no_bump = true;
    batch.Send(SendStep::kProbe, session.link(probe.member), probe.request);
  }
  co_await batch;
  for (Probe& probe : probes) {
    probe.state.present =
        probe.request.outcome == net::Outcome::kOk &&
        probe.request.item_bytes == probe.state.bytes + kBlockHeaderBytes;
    blocks.push_back(std::move(probe.state));
  }
}

// As it is now, not as it is remembered.
Task<Result<std::shared_ptr<const Manifest>>> ReadManifest(Session& session,
                                                           std::string_view key,
                                                           StepTimer* steps) {
  CurrentManifest current(session, key, steps, kNoBump);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return Fail(std::move(status));
  Result<std::shared_ptr<const Manifest>> manifest = co_await current.Next();
  if (manifest && current.remembered()) manifest = co_await current.Next();
  co_return manifest;
}

}  // namespace

ObjectInfo InfoOf(const Manifest& manifest) {
  ObjectInfo info;
  info.scheme = manifest.scheme;
  info.width = manifest.width;
  info.is_inline = manifest.is_inline && !manifest.is_packed();
  if (manifest.is_packed()) info.pack = PackKey(manifest.pack);
  info.length = manifest.length;
  if (!manifest.is_inline) {
    info.unit = manifest.unit;
    info.group_bytes = manifest.group_bytes;
    info.groups =
        ObjectMap(std::make_shared<const Manifest>(manifest)).groups();
  }
  info.client_flags = manifest.client_flags;
  info.cas = manifest.cas;
  info.expiry = manifest.expiry;
  info.version = FormatChangeId(manifest.id);
  info.stale = manifest.stale;
  info.won = manifest.won;
  return info;
}

Task<Result<ObjectInfo>> Store::Info(std::string_view key) {
  const Result<std::shared_ptr<const Manifest>> manifest =
      co_await ReadManifest(session_, key, steps_);
  if (!manifest) co_return Fail(manifest.error());
  co_return InfoOf(**manifest);
}

Task<Result<ObjectDetail>> Store::Stat(std::string_view key) {
  const Result<std::shared_ptr<const Manifest>> manifest =
      co_await ReadManifest(session_, key, steps_);
  if (!manifest) co_return Fail(manifest.error());
  ObjectDetail detail;
  static_cast<ObjectInfo&>(detail) = InfoOf(**manifest);
  const std::shared_ptr<const View> view = session_.view();
  for (const int member : ReplicasOf(*view, session_.ring(), key).members) {
    detail.replicas.push_back(session_.member_name(member));
  }
  if ((*manifest)->is_inline) co_return detail;
  const ObjectMap map(*manifest);
  for (int group = 0; group < map.groups(); ++group) {
    co_await ProbeGroup(session_, map, group, detail.blocks);
  }
  co_return detail;
}

}  // namespace ers::store
