#include "layout/geometry.h"

#include <cassert>
#include <map>
#include <numeric>
#include <utility>

#include "base/mutex.h"

namespace ers::layout {
namespace {

// More schemes than one process uses, and yet an end.
constexpr std::size_t kMaxCached = 64;

// Of k' columns: one row, which is one stripe of either width.
Placement PlaceColumns(const Scheme& scheme) {
  Placement placement;
  for (int c = 0; c < scheme.kp; ++c) placement.push_back({0, c, 0, c});
  return placement;
}

Placement Place(const Scheme& scheme, Unit unit) {
  if (unit == Unit::kColumns) return PlaceColumns(scheme);
  switch (scheme.kind) {
    case SchemeKind::kSrs:
      return PlaceColumnMajor(scheme);
    case SchemeKind::kErs2:
      return PlaceErsAware(scheme);
    case SchemeKind::kRep:
    case SchemeKind::kRs:
    case SchemeKind::kErs1:
    case SchemeKind::kChain:
      break;
  }
  return PlaceRowMajor(scheme);
}

}  // namespace

Geometry::Geometry(const Scheme& scheme, Unit unit)
    : scheme_(scheme),
      unit_(unit),
      cells_(in_columns() ? GetGeometry(scheme) : nullptr),
      data_blocks_(in_columns() ? scheme.kp : GroupDataBlocks(scheme)),
      placement_(Place(scheme, unit)),
      widths_(WidthsOf(scheme)),
      wide_matrix_(code::CodingMatrix(scheme.kp, scheme.m)),
      by_node_(scheme.kind != SchemeKind::kSrs) {
  assert(ValidateScheme(scheme).ok() && (!in_columns() || scheme.elastic()));
  // The ERS matrix serves all widths; that is what makes it elastic.
  narrow_matrix_ =
      by_node_ ? wide_matrix_ : code::CodingMatrix(scheme.k, scheme.m);
  for (const Width width : widths_) {
    Cut& cut = cuts_.at(static_cast<std::size_t>(width));
    cut = CutFor(width);
    cut.first_id = parity_ids_per_index_;
    parity_ids_per_index_ += stripe_count(width);
  }
}

Geometry::Cut Geometry::CutFor(Width width) const {
  Cut cut;
  const int count = stripe_width(width);
  cut.blocks.resize(static_cast<std::size_t>(data_blocks_));
  for (int block = 0; block < data_blocks_; ++block) {
    const Cell& cell = placement_[block];
    Cut::Place place{block / count, block % count};  // of a row-major grid
    if (width == Width::kNarrow) place = {cell.stripe, cell.rank};
    if (width == Width::kWide) place = {cell.row, cell.column};
    cut.places.push_back(place);
    cut.blocks[place.stripe * count + place.rank] = block;
  }
  return cut;
}

BlockId Geometry::ParityId(Width width, int stripe, int parity) const {
  assert(stripe >= 0 && stripe < stripe_count(width));
  assert(parity >= 0 && parity < scheme_.m);
  return static_cast<BlockId>(data_blocks_ + parity * parity_ids_per_index() +
                              CutOf(width).first_id + stripe);
}

int Geometry::ParityRank(BlockId id) const {
  const ParityPlace place = PlaceOfParity(id);
  return place.parity * stripe_count(place.width) + place.stripe;
}

Geometry::ParityPlace Geometry::PlaceOfParity(BlockId id) const {
  const int at = static_cast<int>(id);
  assert(at >= data_blocks_ && at < block_id_count());
  const int parity = (at - data_blocks_) / parity_ids_per_index();
  const int offset = (at - data_blocks_) % parity_ids_per_index();
  Width width = widths_.front();
  for (const Width next : widths_) {
    if (offset >= CutOf(next).first_id) width = next;
  }
  return {width, offset - CutOf(width).first_id, parity};
}

bool Geometry::IsStored(BlockId id, Width width) const {
  if (IsData(id)) return true;
  return Has(id) && (!scheme_.elastic() || PlaceOfParity(id).width == width);
}

BlockInfo Geometry::Info(BlockId id, Width width) const {
  if (IsData(id)) {
    return {BlockKind::kData, width, StripeOf(id, width), 0,
            placement_[id].column};
  }
  const ParityPlace place = PlaceOfParity(id);
  return {BlockKind::kParity, place.width, place.stripe, place.parity,
          scheme_.kp + place.parity};
}

int Geometry::NodeOf(BlockId id) const {
  return IsData(id) ? placement_[id].column
                    : scheme_.kp + PlaceOfParity(id).parity;
}

int Geometry::StripeOf(BlockId id, Width width) const {
  assert(IsData(id));
  return CutOf(width).places[id].stripe;
}

int Geometry::RankOf(BlockId id, Width width) const {
  assert(IsData(id));
  return CutOf(width).places[id].rank;
}

std::span<const BlockId> Geometry::StripeData(Width width, int stripe) const {
  assert(stripe >= 0 && stripe < stripe_count(width));
  const int count = stripe_width(width);
  return std::span(CutOf(width).blocks)
      .subspan(static_cast<std::size_t>(stripe) * count, count);
}

std::vector<BlockId> Geometry::StoredBlocks(Width width) const {
  std::vector<BlockId> blocks(data_blocks_);
  std::iota(blocks.begin(), blocks.end(), 0);
  blocks.reserve(stored_blocks(width));
  for (int p = 0; p < scheme_.m; ++p) {
    for (int s = 0; s < stripe_count(width); ++s) {
      blocks.push_back(ParityId(width, s, p));
    }
  }
  return blocks;
}

std::uint8_t Geometry::Coefficient(BlockId id, Width width, int parity) const {
  assert(IsData(id) && !in_columns());
  const Cell& cell = placement_[id];
  const bool ranked = width == Width::kNarrow && !by_node_;
  const auto& matrix = ranked ? *narrow_matrix_ : *wide_matrix_;
  return static_cast<std::uint8_t>(
      matrix.at(parity, ranked ? cell.rank : cell.column));
}

std::vector<std::uint8_t> Geometry::Vector(BlockId id) const {
  assert(!in_columns());
  std::vector<std::uint8_t> vector(data_blocks_, 0);
  if (IsData(id)) {
    vector[id] = 1;
    return vector;
  }
  const ParityPlace place = PlaceOfParity(id);
  for (const BlockId data : StripeData(place.width, place.stripe)) {
    vector[data] = Coefficient(data, place.width, place.parity);
  }
  return vector;
}

int Geometry::CellStripeWidth(BlockId column) const {
  if (IsData(column)) return scheme_.kp;
  return cells_->stripe_width(PlaceOfParity(column).width);
}

std::vector<BlockId> Geometry::CellsOf(BlockId column) const {
  if (!in_columns()) return {column};
  std::vector<BlockId> cells;
  const int count = cell_count(column);
  cells.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (IsData(column)) {
      cells.push_back(cells_->StripeData(Width::kWide, i)[column]);
    } else {
      const ParityPlace place = PlaceOfParity(column);
      cells.push_back(cells_->ParityId(place.width, i, place.parity));
    }
  }
  return cells;
}

Geometry::CellPlace Geometry::ColumnOf(BlockId cell) const {
  if (!in_columns()) return {cell, 0};
  if (cells_->IsData(cell)) {
    const Cell& place = cells_->placement_[cell];
    return {static_cast<BlockId>(place.column), place.row};
  }
  const ParityPlace place = cells_->PlaceOfParity(cell);
  return {ParityId(place.width, 0, place.parity), place.stripe};
}

bool SameButParity(const Scheme& a, const Scheme& b) {
  return a.kind == b.kind && a.k == b.k && a.kp == b.kp && a.middle == b.middle;
}

std::shared_ptr<const Geometry> GetGeometry(const Scheme& scheme, Unit unit) {
  using Key = std::pair<Scheme, Unit>;
  static Mutex mutex;
  static std::map<Key, std::shared_ptr<const Geometry>> cache;
  const Key key{scheme, unit};
  {
    const MutexLock lock(mutex);
    const auto found = cache.find(key);
    if (found != cache.end()) return found->second;
  }
  auto geometry = std::make_shared<const Geometry>(scheme, unit);
  const MutexLock lock(mutex);
  if (cache.size() >= kMaxCached) cache.clear();
  return cache.try_emplace(key, std::move(geometry)).first->second;
}

}  // namespace ers::layout
