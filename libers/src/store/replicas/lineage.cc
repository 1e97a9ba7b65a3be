#include "store/replicas/lineage.h"

#include <algorithm>
#include <iterator>

#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

using Tags = std::vector<ChangeTag>;

// Newest first, with itself.
Tags Lineage(const Manifest& manifest) {
  Tags tags = {manifest.id.tag()};
  tags.insert(tags.end(), manifest.history.begin(), manifest.history.end());
  return tags;
}

bool Remembers(const Manifest& manifest, const ChangeTag& tag) {
  const Tags tags = Lineage(manifest);
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

bool HasRoom(const Tags& tags, const Manifest& next) {
  if (tags.size() > kHistoryLength) return false;
  return !next.is_inline || tags.size() <= 1 ||
         HistoryBytes(next.id, tags) <= kInlineHistoryBytes;
}

// The oldest that is not its maker's last, else the oldest.
Tags::iterator LeastNeeded(Tags& tags) {
  for (auto at = std::prev(tags.end()); at != tags.begin(); --at) {
    const bool newer_there = std::any_of(
        tags.begin(), at,
        [at](const ChangeTag& newer) { return newer.maker == at->maker; });
    if (newer_there) return at;
  }
  return std::prev(tags.end());
}

}  // namespace

std::vector<ChangeTag> HistoryAfter(const Manifest* before,
                                    const Manifest& next) {
  if (before == nullptr) return {};
  Tags tags = Lineage(*before);
  if (Planted(PlantedBug::kForgetsLast) && tags.size() > 1) {
    tags.erase(std::next(tags.begin()));
  }
  while (!HasRoom(tags, next)) tags.erase(LeastNeeded(tags));
  return tags;
}

// What is remembered of before the change proves that of its maker, too, what
// came later is remembered.
std::optional<bool> Happened(const ChangeId& id, const Manifest* base,
                             const Manifest& now) {
  if (now.Remembers(id)) return true;
  if (base == nullptr) return std::nullopt;
  const Tags tags = Lineage(now);
  const bool another =
      std::any_of(tags.begin(), tags.end(), [&](const ChangeTag& other) {
        return other.maker == id.tag().maker && !Remembers(*base, other);
      });
  const bool reaches_base = std::any_of(
      tags.begin(), tags.end(),
      [base](const ChangeTag& other) { return Remembers(*base, other); });
  if (another || !reaches_base) return std::nullopt;
  return false;
}

}  // namespace ers::store
