#include "store/dropping.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "store/batch.h"

namespace ers::store {
namespace {

constexpr std::int64_t kReadDeadlineSeconds = 60;

struct Drop {
  int member;
  std::string key;
  net::Request request;
};

bool HasBlocks(const Manifest* manifest) {
  return manifest != nullptr && !manifest->tombstone && !manifest->is_inline;
}

bool Names(const ObjectMap& map, const ObjectMap& old, int group,
           layout::BlockId block) {
  if (map.manifest().scheme != old.manifest().scheme || group >= map.groups()) {
    return false;
  }
  if (!map.geometry().IsData(block) && map.width() != old.width()) return false;
  return map.GenerationOf(group, block) == old.GenerationOf(group, block);
}

net::Task<void> Run(Session& session, std::deque<Drop> drops, net::Verb verb) {
  Batch batch(session.runtime());
  for (Drop& drop : drops) {
    drop.request.verb = verb;
    drop.request.key = drop.key;
    drop.request.exptime = kReadDeadlineSeconds;
    drop.request.lazy = true;
    if (verb == net::Verb::kDelete) drop.request.quiet_run = &drops;
    batch.Submit(session.link(drop.member), drop.request);
  }
  co_await batch;
}

// Drops the blocks of `from` that `goes` names.
template <typename Goes>
void DropThose(Session& session, const ObjectMap& from, net::Verb verb,
               const Goes& goes) {
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
  if (!drops.empty()) session.Detach(Run(session, std::move(drops), verb));
}

}  // namespace

void DropReplaced(Session& session, std::shared_ptr<const Manifest> old,
                  std::shared_ptr<const Manifest> kept) {
  if (!HasBlocks(old.get())) return;
  const ObjectMap from(std::move(old));
  std::optional<ObjectMap> to;
  if (HasBlocks(kept.get())) to.emplace(std::move(kept));
  DropThose(session, from,
            from.groups() > 1 ? net::Verb::kTouch : net::Verb::kDelete,
            [&](int group, layout::BlockId block) {
              return !to || !Names(*to, from, group, block);
            });
}

void DropOutdated(Session& session, const ObjectMap& from, int group,
                  const std::set<layout::BlockId>& blocks,
                  std::shared_ptr<const Manifest> kept) {
  std::optional<ObjectMap> to;
  if (HasBlocks(kept.get())) to.emplace(std::move(kept));
  DropThose(session, from, net::Verb::kDelete,
            [&](int of, layout::BlockId block) {
              return of == group && blocks.contains(block) &&
                     !(to && Names(*to, from, group, block));
            });
}

void DropStaged(Session& session, const Manifest& abandoned) {
  if (!HasBlocks(&abandoned) || abandoned.length == 0) return;
  const ObjectMap from(std::make_shared<const Manifest>(abandoned));
  DropThose(session, from, net::Verb::kDelete,
            [&](int group, layout::BlockId block) {
              return from.GenerationOf(group, block) == abandoned.id;
            });
}

}  // namespace ers::store
