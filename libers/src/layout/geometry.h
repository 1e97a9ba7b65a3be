// Geometry: everything about one group that follows from its scheme alone.
// Immutable after Make; any thread. Pure: no I/O.
#ifndef ERS_LAYOUT_GEOMETRY_H_
#define ERS_LAYOUT_GEOMETRY_H_

#include <span>
#include <vector>

#include "ers/scheme.h"
#include "layout/block_id.h"

namespace ers::layout {

enum class BlockKind { kData, kNarrowParity, kWideParity };

// What a block id says. `stripe` is the narrow stripe for narrow parity, the
// row for wide parity; for data it is the stripe under the width asked.
struct BlockInfo {
  BlockKind kind;
  int stripe;
  int parity;  // index p of a parity block in its stripe; 0 for data
  int node;    // 0 .. k'+m-1
};

class Geometry {
 public:
  // `scheme` must satisfy ValidateScheme (asserted).
  explicit Geometry(const Scheme& scheme);

  const Scheme& scheme() const { return scheme_; }
  int data_blocks() const;               // l
  int node_count() const;                // k' + m
  int rows() const;                      // l / k'
  int stripe_count(Width width) const;   // l/k or l/k'
  int stripe_width(Width width) const;   // k or k'
  int parity_blocks(Width width) const;  // m * stripe_count(width)
  int stored_blocks(Width width) const;  // l + parity_blocks(width)
  int block_id_count() const;            // one past the largest id

  BlockId ParityId(Width width, int stripe, int parity) const;
  BlockInfo Info(BlockId id, Width width) const;
  int NodeOf(BlockId id) const;
  bool IsData(BlockId id) const;
  // Stripe of data block `id` under `width`.
  int StripeOf(BlockId id, Width width) const;
  // Data blocks of a stripe, in the order of its logical columns.
  std::span<const BlockId> StripeData(Width width, int stripe) const;
  // Every block that an object of this width stores, ascending.
  std::vector<BlockId> StoredBlocks(Width width) const;
  // Encoding coefficient of data block `id` in parity `parity` of its stripe
  // under `width`: g of its node for ERS, of its logical column for SRS and RS
  // (shared words: "Encoding matrix"). 1 for rep.
  std::uint8_t Coefficient(BlockId id, Width width, int parity) const;
  // The vector of any block over the group's l data symbols: unit vector for
  // data, stripe coefficients for parity.
  std::vector<std::uint8_t> Vector(BlockId id) const;

 private:
  Scheme scheme_;
};

}  // namespace ers::layout

#endif  // ERS_LAYOUT_GEOMETRY_H_
