#include "store/format/generation_map.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace ers::store {

GenerationMap::GenerationMap(std::uint32_t size, const ChangeId& generation)
    : size_(size) {
  if (size > 0) runs_.push_back({0, generation});
}

ChangeId GenerationMap::at(std::uint32_t position) const {
  assert(position < size_);
  auto after = std::upper_bound(
      runs_.begin(), runs_.end(), position,
      [](std::uint32_t at, const Run& run) { return at < run.first; });
  return std::prev(after)->generation;
}

void GenerationMap::Set(std::uint32_t position, const ChangeId& generation) {
  assert(position < size_);
  if (at(position) == generation) return;
  std::vector<Run> old = std::move(runs_);
  runs_.clear();
  bool placed = false;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::uint32_t end = i + 1 < old.size() ? old[i + 1].first : size_;
    const bool here = !placed && position < end;
    if (!here) {
      AppendRun(old[i].first, old[i].generation);
      continue;
    }
    placed = true;
    if (old[i].first < position) AppendRun(old[i].first, old[i].generation);
    AppendRun(position, generation);
    if (position + 1 < end) AppendRun(position + 1, old[i].generation);
  }
}

void GenerationMap::Resize(std::uint32_t size, const ChangeId& generation) {
  if (size > size_) {
    const std::uint32_t first = size_;
    size_ = size;
    AppendRun(first, generation);
    return;
  }
  size_ = size;
  while (!runs_.empty() && runs_.back().first >= size) runs_.pop_back();
}

void GenerationMap::AppendRun(std::uint32_t first, const ChangeId& generation) {
  if (!runs_.empty() && runs_.back().generation == generation) return;
  runs_.push_back({first, generation});
}

}  // namespace ers::store
