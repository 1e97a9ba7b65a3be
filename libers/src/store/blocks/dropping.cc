#include "store/blocks/dropping.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/micros.h"
#include "store/membership/batch.h"

namespace ers::store {
namespace {

// Readers of a value of several groups take this long, at most, or this many
// bytes a second.
constexpr std::int64_t kReadSeconds = 2;
constexpr std::uint64_t kReadBytesPerSecond = std::uint64_t{4} << 20;

// How long the blocks of a replaced object live on for readers under way: no
// longer than the object itself did, so that one that is overwritten again and
// again never fills the memory with what it was. 0: not at all.
std::int64_t GraceSeconds(Session& session, const ObjectMap& old) {
  if (old.groups() == 1) return 0;
  const Manifest& manifest = old.manifest();
  const std::int64_t lived =
      (session.WallMicros() - static_cast<std::int64_t>(manifest.id.time_us)) /
      kMicrosPerSecond;
  const auto reading =
      static_cast<std::int64_t>(manifest.length / kReadBytesPerSecond);
  return std::clamp<std::int64_t>(lived, 0, kReadSeconds + reading);
}

struct Drop {
  int member;
  std::string key;
  net::Request request;
};

bool HasBlocks(const Manifest* manifest) {
  return manifest != nullptr && !manifest->tombstone && !manifest->is_inline;
}

net::Task<void> Run(Session& session, SendStep step, std::deque<Drop> drops,
                    std::int64_t grace) {
  Batch batch(session.runtime());
  for (Drop& drop : drops) {
    drop.request.verb = grace > 0 ? net::Verb::kTouch : net::Verb::kDelete;
    drop.request.key = drop.key;
    drop.request.exptime = grace;
    drop.request.lazy = true;
    if (grace == 0) drop.request.quiet_run = &drops;
    batch.Send(step, session.link(drop.member), drop.request);
  }
  co_await batch;
}

// Drops the blocks of `from` that `goes` names, `grace` seconds from now.
template <typename Goes>
void DropThose(Session& session, SendStep step, const ObjectMap& from,
               std::int64_t grace, const Goes& goes) {
  std::deque<Drop> drops;
  for (int group = 0; group < from.groups(); ++group) {
    for (const layout::BlockId block :
         from.geometry().StoredBlocks(from.width())) {
      const int member = from.MemberOf(group, block);
      if (!from.GenerationOf(group, block) || !session.Writable(member) ||
          !goes(group, block)) {
        continue;
      }
      Drop& drop = drops.emplace_back();
      drop.member = member;
      drop.key = from.KeyOf(group, block);
    }
  }
  if (drops.empty()) return;
  session.Detach(Run(session, step, std::move(drops), grace));
}

}  // namespace

void DropReplaced(Session& session, std::shared_ptr<const Manifest> old,
                  std::shared_ptr<const Manifest> kept) {
  if (!HasBlocks(old.get())) return;
  const ObjectMap from(std::move(old));
  std::optional<ObjectMap> to;
  if (HasBlocks(kept.get())) to.emplace(std::move(kept));
  DropThose(session, SendStep::kDropReplaced, from, GraceSeconds(session, from),
            [&](int group, layout::BlockId block) {
              return !to || !Names(*to, from, group, block);
            });
}

void DropOutdated(Session& session, const ObjectMap& from, int group,
                  const std::set<layout::BlockId>& blocks,
                  std::shared_ptr<const Manifest> kept) {
  std::optional<ObjectMap> to;
  if (HasBlocks(kept.get())) to.emplace(std::move(kept));
  DropThose(session, SendStep::kDropOutdated, from, /*grace=*/0,
            [&](int of, layout::BlockId block) {
              return of == group && blocks.contains(block) &&
                     !(to && Names(*to, from, group, block));
            });
}

void DropStaged(Session& session, const Manifest& abandoned) {
  if (!HasBlocks(&abandoned) || abandoned.length == 0) return;
  const ObjectMap from(std::make_shared<const Manifest>(abandoned));
  DropThose(session, SendStep::kDropStaged, from, /*grace=*/0,
            [&](int group, layout::BlockId block) {
              return from.GenerationOf(group, block) == abandoned.id;
            });
}

}  // namespace ers::store
