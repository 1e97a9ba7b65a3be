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

Placement Place(const Scheme& scheme) {
  switch (scheme.kind) {
    case SchemeKind::kSrs:
      return PlaceColumnMajor(scheme);
    case SchemeKind::kErs2:
      return PlaceErsAware(scheme);
    case SchemeKind::kRep:
    case SchemeKind::kRs:
    case SchemeKind::kErs1:
      break;
  }
  return PlaceRowMajor(scheme);
}

}  // namespace

Geometry::Geometry(const Scheme& scheme)
    : scheme_(scheme),
      data_blocks_(GroupDataBlocks(scheme)),
      placement_(Place(scheme)),
      narrow_(data_blocks_),
      wide_(data_blocks_),
      wide_matrix_(code::CodingMatrix(scheme.kp, scheme.m)),
      by_node_(scheme.kind != SchemeKind::kSrs) {
  assert(ValidateScheme(scheme).ok());
  // The ERS matrix serves both widths; that is what makes it elastic.
  narrow_matrix_ =
      by_node_ ? wide_matrix_ : code::CodingMatrix(scheme.k, scheme.m);
  for (int block = 0; block < data_blocks_; ++block) {
    const Cell& cell = placement_[block];
    narrow_[cell.stripe * scheme.k + cell.rank] = block;
    wide_[cell.row * scheme.kp + cell.column] = block;
  }
}

BlockId Geometry::ParityId(Width width, int stripe, int parity) const {
  assert(stripe >= 0 && stripe < stripe_count(width));
  assert(parity >= 0 && parity < scheme_.m);
  const int before = width == Width::kWide && scheme_.elastic()
                         ? stripe_count(Width::kNarrow)
                         : 0;
  return static_cast<BlockId>(data_blocks_ + parity * parity_ids_per_index() +
                              before + stripe);
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
  const int narrow = stripe_count(Width::kNarrow);
  if (offset < narrow) return {Width::kNarrow, offset, parity};
  return {Width::kWide, offset - narrow, parity};
}

bool Geometry::IsStored(BlockId id, Width width) const {
  if (IsData(id)) return true;
  return Has(id) && (!scheme_.elastic() || PlaceOfParity(id).width == width);
}

BlockInfo Geometry::Info(BlockId id, Width width) const {
  if (IsData(id)) {
    return {BlockKind::kData, StripeOf(id, width), 0, placement_[id].column};
  }
  const ParityPlace place = PlaceOfParity(id);
  const auto kind = place.width == Width::kNarrow ? BlockKind::kNarrowParity
                                                  : BlockKind::kWideParity;
  return {kind, place.stripe, place.parity, scheme_.kp + place.parity};
}

int Geometry::NodeOf(BlockId id) const {
  return IsData(id) ? placement_[id].column
                    : scheme_.kp + PlaceOfParity(id).parity;
}

int Geometry::StripeOf(BlockId id, Width width) const {
  assert(IsData(id));
  const Cell& cell = placement_[id];
  return width == Width::kNarrow ? cell.stripe : cell.row;
}

int Geometry::RankOf(BlockId id, Width width) const {
  assert(IsData(id));
  const Cell& cell = placement_[id];
  return width == Width::kNarrow ? cell.rank : cell.column;
}

std::span<const BlockId> Geometry::StripeData(Width width, int stripe) const {
  assert(stripe >= 0 && stripe < stripe_count(width));
  const auto& blocks = width == Width::kNarrow ? narrow_ : wide_;
  const int count = stripe_width(width);
  return std::span(blocks).subspan(static_cast<std::size_t>(stripe) * count,
                                   count);
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
  assert(IsData(id));
  const Cell& cell = placement_[id];
  const bool ranked = width == Width::kNarrow && !by_node_;
  const auto& matrix = ranked ? *narrow_matrix_ : *wide_matrix_;
  return static_cast<std::uint8_t>(
      matrix.at(parity, ranked ? cell.rank : cell.column));
}

std::vector<std::uint8_t> Geometry::Vector(BlockId id) const {
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

bool SameButParity(const Scheme& a, const Scheme& b) {
  return a.kind == b.kind && a.k == b.k && a.kp == b.kp;
}

std::shared_ptr<const Geometry> GetGeometry(const Scheme& scheme) {
  static Mutex mutex;
  static std::map<Scheme, std::shared_ptr<const Geometry>> cache;
  {
    const MutexLock lock(mutex);
    const auto found = cache.find(scheme);
    if (found != cache.end()) return found->second;
  }
  auto geometry = std::make_shared<const Geometry>(scheme);
  const MutexLock lock(mutex);
  if (cache.size() >= kMaxCached) cache.clear();
  return cache.try_emplace(scheme, std::move(geometry)).first->second;
}

}  // namespace ers::layout
