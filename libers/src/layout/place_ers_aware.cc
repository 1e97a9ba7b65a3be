#include <cassert>

#include "layout/placement.h"

namespace ers::layout {
namespace {

// Walks the cells that the same-row stripes leave empty, each row from the end
// of its same-row run, wrapping round.
class EmptyCells {
 public:
  EmptyCells(const Scheme& scheme, const std::vector<int>& starts, int row)
      : kp_(scheme.kp),
        run_(scheme.kp / scheme.k * scheme.k),
        starts_(starts),
        row_(row) {}

  Cell Take(int stripe, int rank) {
    assert(row_ < static_cast<int>(starts_.size()));
    const Cell cell{row_, (starts_[row_] + run_ + taken_) % kp_, stripe, rank};
    if (run_ + ++taken_ == kp_) {
      taken_ = 0;
      ++row_;
    }
    return cell;
  }

 private:
  int kp_;
  int run_;  // cells of a row that its same-row stripes fill
  const std::vector<int>& starts_;
  int row_;
  int taken_ = 0;
};

}  // namespace

Placement PlaceErsAware(const Scheme& scheme) {
  const int k = scheme.k;
  const int kp = scheme.kp;
  const int blocks = GroupDataBlocks(scheme);
  const int rows = blocks / kp;
  const int per_row = kp / k;               // same-row stripes of a row
  const int rest = kp % k;                  // cells they leave empty
  const int same_row = per_row * rows;      // alpha
  const int cross = blocks / k - same_row;  // beta

  // Starts step in such a way that every cross-row stripe meets each node at
  // most once.
  std::vector<int> starts(rows);
  for (int row = 0; row < rows; ++row) {
    starts[row] =
        row < cross ? row * (k - rest) % kp : (row - cross + 1) * rest % kp;
  }

  Placement placement;
  placement.reserve(blocks);
  for (int stripe = 0; stripe < same_row; ++stripe) {
    const int row = stripe / per_row;
    const int first = starts[row] + stripe % per_row * k;
    for (int rank = 0; rank < k; ++rank) {
      placement.push_back({row, (first + rank) % kp, stripe, rank});
    }
  }
  EmptyCells shared(scheme, starts, cross);
  for (int i = 0; i < cross; ++i) {
    EmptyCells own(scheme, starts, i);
    for (int rank = 0; rank < k; ++rank) {
      EmptyCells& cells = rank < rest ? own : shared;
      placement.push_back(cells.Take(same_row + i, rank));
    }
  }
  return placement;
}

}  // namespace ers::layout
