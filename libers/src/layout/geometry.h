// Geometry: everything about one group that follows from its scheme, and from
// what is stored as one item. Immutable; any thread. Pure: no I/O.
#ifndef ERS_LAYOUT_GEOMETRY_H_
#define ERS_LAYOUT_GEOMETRY_H_

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "code/matrix.h"
#include "ers/scheme.h"
#include "layout/block_id.h"
#include "layout/placement.h"

namespace ers::layout {

enum class BlockKind { kData, kParity };

// What a block id says. `width` is the one that parity belongs to; for data it
// is the width asked, and `stripe` the stripe under it.
struct BlockInfo {
  BlockKind kind;
  Width width;
  int stripe;
  int parity;  // index p of a parity block in its stripe; 0 for data
  int node;    // 0 .. k'+m-1
};

// Every Width that is asked for must be one of the scheme's. But schemes that
// are not elastic, which have one, answer for kWide what they answer for
// kNarrow.
//
// In columns, what is said of blocks holds for columns: the group has k' of
// data, and m of parity for each width, all in one stripe. The blocks that they
// consist of are their *cells*, and have a geometry of their own.
class Geometry {
 public:
  // `scheme` must satisfy ValidateScheme, and be elastic where `unit` is
  // columns (asserted). Prefer GetGeometry.
  explicit Geometry(const Scheme& scheme, Unit unit = Unit::kBlocks);

  const Scheme& scheme() const { return scheme_; }
  Unit unit() const { return unit_; }
  bool in_columns() const { return unit_ == Unit::kColumns; }
  int data_blocks() const { return data_blocks_; }           // l, or k'
  int node_count() const { return scheme_.kp + scheme_.m; }  // k' + m
  int rows() const { return data_blocks_ / scheme_.kp; }     // l / k', or 1
  // l/k or l/k' or between; 1 of columns
  int stripe_count(Width width) const {
    return data_blocks_ / stripe_width(width);
  }
  // k or k' or between; k' of columns
  int stripe_width(Width width) const {
    return in_columns() ? scheme_.kp : StripeDataBlocks(scheme_, width);
  }
  // m * stripe_count(width)
  int parity_blocks(Width width) const {
    return scheme_.m * stripe_count(width);
  }
  // l + parity_blocks(width)
  int stored_blocks(Width width) const {
    return data_blocks_ + parity_blocks(width);
  }
  // One past the largest id.
  int block_id_count() const {
    return data_blocks_ + scheme_.m * parity_ids_per_index();
  }
  // The same for the largest m that k' allows: numbers of blocks count by it,
  // so that they do not change with m.
  int block_id_span() const {
    return data_blocks_ +
           (kMaxSchemeNodes - scheme_.kp) * parity_ids_per_index();
  }

  BlockId ParityId(Width width, int stripe, int parity) const;
  // Place of a parity block among those of its width, which ascend by index,
  // then by stripe.
  int ParityRank(BlockId id) const;
  BlockInfo Info(BlockId id, Width width) const;
  int NodeOf(BlockId id) const;
  // False for the parity blocks of a larger m.
  bool Has(BlockId id) const {
    return id < static_cast<BlockId>(block_id_count());
  }
  // Does an object of this width have it?
  bool IsStored(BlockId id, Width width) const;
  bool IsData(BlockId id) const {
    return id < static_cast<BlockId>(data_blocks_);
  }
  // Stripe of data block `id` under `width`.
  int StripeOf(BlockId id, Width width) const;
  // Place of data block `id` in StripeData(width, StripeOf(id, width)).
  int RankOf(BlockId id, Width width) const;
  // Data blocks of a stripe, in the order of its logical columns. Valid as
  // long as the geometry.
  std::span<const BlockId> StripeData(Width width, int stripe) const;
  // Every block that an object of this width stores, ascending.
  std::vector<BlockId> StoredBlocks(Width width) const;
  // Encoding coefficient of data block `id` in parity `parity` of its stripe
  // under `width`: g of its node for ERS, of its logical column for SRS and RS
  // (shared words: "Encoding matrix"). 1 for rep. Not of columns (asserted).
  std::uint8_t Coefficient(BlockId id, Width width, int parity) const;
  // The vector of any block over the group's l data symbols: unit vector for
  // data, stripe coefficients for parity. Not of columns (asserted).
  std::vector<std::uint8_t> Vector(BlockId id) const;

  // The group in blocks: itself, or that of the columns' cells.
  const Geometry& cells() const { return cells_ ? *cells_ : *this; }
  // So many cells are in a block or column: 1, l/k', l/k or between.
  int cell_count(BlockId id) const {
    if (!in_columns()) return 1;
    return cells_->data_blocks() / CellStripeWidth(id);
  }
  // The cells of a column in their order, which is that of rows, or of stripes.
  std::vector<BlockId> CellsOf(BlockId column) const;
  // Where a cell is; of blocks: the block itself.
  struct CellPlace {
    BlockId column;
    int at;  // in CellsOf(column)
  };
  CellPlace ColumnOf(BlockId cell) const;

 private:
  // Stripe and parity index of a parity block, and the width it belongs to.
  struct ParityPlace {
    Width width;
    int stripe;
    int parity;
  };
  ParityPlace PlaceOfParity(BlockId id) const;
  // Of the stripes whose blocks a column has.
  int CellStripeWidth(BlockId column) const;
  int parity_ids_per_index() const { return parity_ids_per_index_; }

  // How one width cuts the data into stripes.
  struct Cut {
    struct Place {
      int stripe;
      int rank;  // among the blocks of the stripe
    };
    std::vector<Place> places;    // by data block
    std::vector<BlockId> blocks;  // stripe by stripe
    int first_id = 0;             // of its parity ids of one index
  };
  Cut CutFor(Width width) const;
  const Cut& CutOf(Width width) const {
    // One that is not elastic has one.
    return cuts_[scheme_.elastic() ? static_cast<std::size_t>(width) : 0];
  }

  Scheme scheme_;
  Unit unit_;
  std::shared_ptr<const Geometry> cells_;  // of columns
  int data_blocks_;
  Placement placement_;
  std::vector<Width> widths_;  // ascending
  std::array<Cut, 4> cuts_;    // by Width; empty where the scheme has it not
  int parity_ids_per_index_ = 0;
  std::shared_ptr<const code::Matrix> narrow_matrix_;
  std::shared_ptr<const code::Matrix> wide_matrix_;
  bool by_node_;  // the narrow matrix's columns belong to nodes, not to ranks
};

// Do the schemes differ in m at most? Then their data blocks are the same on
// the same nodes, and so are the parity blocks that both have.
bool SameButParity(const Scheme& a, const Scheme& b);

// The geometry of a scheme, made once and shared (the last few dozen schemes
// are kept). As the constructor. Any thread.
std::shared_ptr<const Geometry> GetGeometry(const Scheme& scheme,
                                            Unit unit = Unit::kBlocks);

}  // namespace ers::layout

#endif  // ERS_LAYOUT_GEOMETRY_H_
