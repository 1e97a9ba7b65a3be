#include "plan/column_transition.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ers::plan {
namespace {

// So many cells has a group at most in which all is searched; of each larger
// one a plan takes long by itself.
constexpr int kMaxCells = 256;
constexpr std::size_t kMaxSearched = 20'000;
constexpr std::size_t kMaxTried = 32;

// Searches sets of data columns that need not be read.
//
// To read less than all data, or as much in fewer columns, more columns must
// stay unread than parity columns are read: those are no shorter. Where more
// blocks of an old stripe stay unread than it has parity, that has to carry
// them over, all of it and into one new stripe, which gets no more parity than
// there was (plan/transition.h). What goes for one set goes for each of its
// parts, so sets grow column by column.
class Search {
 public:
  Search(const Geometry& columns, const FormChange& change)
      : columns_(columns),
        cells_(columns.cells()),
        from_(change.from.width),
        to_(change.to.width),
        stored_(static_cast<std::size_t>(change.from.m)),
        carries_over_(change.to.m <= change.from.m),
        unread_(static_cast<std::size_t>(cells_.stripe_count(from_))) {}

  // The largest sets first.
  std::vector<std::vector<BlockId>> Run() {
    Grow(0);
    std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    found_.resize(std::min(found_.size(), kMaxTried));
    return std::move(found_);
  }

 private:
  // Of an old stripe: new stripes of its blocks that are not read.
  using Targets = std::vector<int>;

  void Grow(BlockId next) {
    if (set_.size() > 1) found_.push_back(set_);
    for (BlockId column = next;
         column < static_cast<BlockId>(columns_.data_blocks()); ++column) {
      if (++searched_ > kMaxSearched) return;
      const std::vector<BlockId> blocks = columns_.CellsOf(column);
      for (const BlockId cell : blocks) {
        Unread(cell).push_back(cells_.StripeOf(cell, to_));
      }
      set_.push_back(column);
      if (MayStayUnread()) Grow(column + 1);
      set_.pop_back();
      for (const BlockId cell : blocks) Unread(cell).pop_back();
    }
  }

  Targets& Unread(BlockId cell) {
    return unread_[static_cast<std::size_t>(cells_.StripeOf(cell, from_))];
  }

  [[nodiscard]] bool MayStayUnread() const {
    return std::all_of(unread_.begin(), unread_.end(), [this](const auto& of) {
      return of.size() <= stored_ ||
             (carries_over_ &&
              std::all_of(of.begin(), of.end(),
                          [&of](int target) { return target == of.front(); }));
    });
  }

  const Geometry& columns_;
  const Geometry& cells_;
  const Width from_;
  const Width to_;
  const std::size_t stored_;     // parity blocks of an old stripe
  const bool carries_over_;      // some of it, into a new one
  std::vector<Targets> unread_;  // by old stripe
  std::vector<BlockId> set_;
  std::vector<std::vector<BlockId>> found_;
  std::size_t searched_ = 0;
};

}  // namespace

std::optional<Plan> PlanColumnTransition(const Geometry& columns,
                                         const FormChange& change,
                                         const Missing& missing,
                                         const CellPlanner& planner) {
  std::vector<std::vector<BlockId>> avoided;
  const bool reads =
      change.from.width != change.to.width || change.to.m > change.from.m;
  if (reads && missing.blocks.empty() && missing.dead_nodes.empty() &&
      columns.cells().data_blocks() <= kMaxCells) {
    avoided = Search(columns, change).Run();
  }
  std::vector<BlockId> parity;
  for (int p = 0; p < change.from.m; ++p) {
    parity.push_back(columns.ParityId(change.from.width, 0, p));
  }
  avoided.push_back(std::move(parity));
  return CheapestInColumns(columns, missing, avoided, planner);
}

}  // namespace ers::plan
