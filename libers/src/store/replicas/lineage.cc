#include "store/replicas/lineage.h"

#include <algorithm>
#include <iterator>

#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

using Ids = std::vector<ChangeId>;

// Newest first, with itself.
Ids Lineage(const Manifest& manifest) {
  Ids ids = {manifest.id};
  ids.insert(ids.end(), manifest.history.begin(), manifest.history.end());
  return ids;
}

// The oldest that is not its maker's last, else the oldest.
Ids::iterator LeastNeeded(Ids& ids) {
  for (auto at = std::prev(ids.end()); at != ids.begin(); --at) {
    const bool newer_there = std::any_of(
        ids.begin(), at,
        [at](const ChangeId& newer) { return newer.maker() == at->maker(); });
    if (newer_there) return at;
  }
  return std::prev(ids.end());
}

}  // namespace

std::vector<ChangeId> HistoryAfter(const Manifest* before) {
  if (before == nullptr) return {};
  Ids ids = Lineage(*before);
  if (Planted(PlantedBug::kForgetsLast) && ids.size() > 1) {
    ids.erase(std::next(ids.begin()));
  }
  while (ids.size() > kHistoryLength) ids.erase(LeastNeeded(ids));
  return ids;
}

// What is remembered of before the change proves that of its maker, too, what
// came later is remembered.
std::optional<bool> Happened(const ChangeId& id, const Manifest* base,
                             const Manifest& now) {
  if (now.Remembers(id)) return true;
  if (base == nullptr) return std::nullopt;
  const Ids ids = Lineage(now);
  const bool another =
      std::any_of(ids.begin(), ids.end(), [&](const ChangeId& other) {
        return other.maker() == id.maker() && !base->Remembers(other);
      });
  const bool reaches_base = std::any_of(
      ids.begin(), ids.end(),
      [base](const ChangeId& other) { return base->Remembers(other); });
  if (another || !reaches_base) return std::nullopt;
  return false;
}

}  // namespace ers::store
