#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "plan/availability.h"
#include "plan/columns.h"
#include "plan/plan_builder.h"
#include "plan/planners.h"
#include "plan/stripe.h"

namespace ers::plan {
namespace {

// What happens to one stripe.
struct Change {
  std::vector<BlockId> touched;
  std::vector<BlockId> keep;  // of these, the ones whose old content is wanted
};

class StripeUpdate {
 public:
  StripeUpdate(const Geometry& geometry, Width width,
               const Availability& availability, const Stripe& stripe,
               const Change& change)
      : geometry_(geometry),
        width_(width),
        availability_(availability),
        stripe_(stripe),
        change_(change),
        parities_(stripe.Parities(availability.live_parities())) {
    for (const BlockId id : stripe.data()) {
      if (!Touches(id)) untouched_.push_back(id);
    }
  }

  // The fewest stored blocks that give the new parity and `keep`; nullopt if
  // what is left does not. By delta: the old touched blocks and old parity. By
  // re-encoding: the other data blocks. No mixture of the two is cheaper in an
  // MDS code, except that k blocks give everything.
  std::optional<std::vector<BlockId>> ChooseReads() const {
    if (parities_.empty() && stripe_.Readable(change_.keep)) {
      return change_.keep;
    }
    std::vector<BlockId> encoding = change_.keep;
    encoding.insert(encoding.end(), untouched_.begin(), untouched_.end());
    std::vector<BlockId> delta = change_.touched;
    delta.insert(delta.end(), parities_.begin(), parities_.end());

    std::optional<std::vector<BlockId>> best;
    for (auto* choice : {&encoding, &delta}) {
      if (!stripe_.Readable(*choice)) continue;
      if (!best || choice->size() < best->size()) best = std::move(*choice);
    }
    if (best && best->size() <= stripe_.data().size()) return best;
    return stripe_.AnyBlocks(change_.keep);
  }

  // Old content for the caller, with reads alone as inputs.
  void AddKeep(std::span<const BlockId> reads, PlanBuilder& builder) const {
    std::vector<BlockId> missing;
    for (const BlockId id : change_.keep) {
      if (availability_.Readable(id)) {
        builder.Read(id);
      } else {
        missing.push_back(id);
      }
    }
    if (!missing.empty()) AddRecovery(stripe_, reads, missing, builder);
  }

  void AddParity(std::span<const BlockId> reads, PlanBuilder& builder) const {
    if (parities_.empty()) return;
    const auto& indices = availability_.live_parities();
    std::vector<code::Vector> old_parts;
    for (const BlockId id : parities_) {
      old_parts.push_back(stripe_.VectorOf(id));
      for (const BlockId touched : change_.touched) {
        old_parts.back()[geometry_.RankOf(touched, width_)] = 0;
      }
    }
    const auto combinations = stripe_.Express(reads, old_parts);
    auto step = builder.Begin(parities_);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      step.AddRead(reads[i], ColumnOf(combinations, i));
    }
    std::vector<std::uint8_t> column(indices.size());
    for (const BlockId id : change_.touched) {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        column[i] = geometry_.Coefficient(id, width_, indices[i]);
      }
      step.AddGiven(id, column);
    }
    builder.Finish(std::move(step));
  }

 private:
  bool Touches(BlockId id) const {
    return std::find(change_.touched.begin(), change_.touched.end(), id) !=
           change_.touched.end();
  }

  const Geometry& geometry_;
  Width width_;
  const Availability& availability_;
  const Stripe& stripe_;
  const Change& change_;
  std::vector<BlockId> parities_;   // those that can be written
  std::vector<BlockId> untouched_;  // data blocks
};

// Parity of a stripe that does not change, as outputs. False: it cannot be had.
bool CarryParity(const Stripe& stripe, const Availability& availability,
                 PlanBuilder& builder) {
  const std::uint8_t one = 1;
  std::vector<BlockId> absent;
  for (const BlockId id : stripe.Parities(availability.live_parities())) {
    if (!availability.Readable(id)) {
      absent.push_back(id);
      continue;
    }
    auto step = builder.Begin({id});
    step.AddRead(id, std::span(&one, 1));
    builder.Finish(std::move(step));
  }
  if (absent.empty()) return true;
  const auto reads = stripe.AnyBlocks({});
  if (reads) AddRecovery(stripe, *reads, absent, builder);
  return reads.has_value();
}

// What is updated, and of which data blocks the old content is wanted.
struct Update {
  std::span<const BlockId> touched;
  std::span<const BlockId> keep;
  bool all_parity = false;  // parity that does not change is written, too
};

std::optional<Plan> PlanOf(const Geometry& geometry, Width width,
                           const Update& what, const Missing& missing) {
  const Availability availability(geometry, missing);
  PlanBuilder builder(geometry);
  builder.Give(what.touched);
  Plan& plan = builder.plan();
  const auto write = [&](BlockId id) {
    (availability.Writable(id) ? plan.writes : plan.unwritten).push_back(id);
  };

  std::map<int, Change> changes;
  for (const BlockId id : plan.given) {
    write(id);
    changes[geometry.StripeOf(id, width)].touched.push_back(id);
  }
  for (const BlockId id : what.keep) {
    auto& kept = changes[geometry.StripeOf(id, width)].keep;
    if (std::find(kept.begin(), kept.end(), id) == kept.end()) {
      kept.push_back(id);
    }
  }
  for (const auto& [s, change] : changes) {
    const Stripe stripe(geometry, width, s, availability);
    const StripeUpdate update(geometry, width, availability, stripe, change);
    const auto reads = update.ChooseReads();
    if (!reads) return std::nullopt;
    update.AddKeep(*reads, builder);
    update.AddParity(*reads, builder);
    for (int p = 0; p < geometry.scheme().m; ++p) write(stripe.parity(p));
  }
  for (int s = 0; what.all_parity && s < geometry.stripe_count(width); ++s) {
    if (changes.contains(s)) continue;
    const Stripe stripe(geometry, width, s, availability);
    if (!CarryParity(stripe, availability, builder)) return std::nullopt;
    for (int p = 0; p < geometry.scheme().m; ++p) write(stripe.parity(p));
  }
  return std::move(builder).Build();
}

// By re-encoding alone, without old parity; or by delta alone, without what is
// not touched: stripes that differ in which is cheaper would ask for both.
std::optional<Plan> PlanInColumns(const Geometry& columns, Width width,
                                  std::span<const BlockId> touched,
                                  std::span<const BlockId> keep,
                                  const Missing& missing) {
  const std::vector<BlockId> touched_cells = CellsOf(columns, touched);
  const std::vector<BlockId> kept_cells = CellsOf(columns, keep);
  std::vector<BlockId> parity;
  std::vector<BlockId> untouched;
  for (const BlockId id : columns.StoredBlocks(width)) {
    if (!columns.IsData(id)) {
      parity.push_back(id);
    } else if (std::find(touched.begin(), touched.end(), id) == touched.end()) {
      untouched.push_back(id);
    }
  }
  return CheapestInColumns(
      columns, missing, std::vector{parity, untouched},
      [&](const Missing& cells) {
        return PlanOf(columns.cells(), width,
                      {touched_cells, kept_cells, /*all_parity=*/true}, cells);
      });
}

}  // namespace

std::optional<Plan> PlanUpdate(const Geometry& geometry, Width width,
                               std::span<const BlockId> touched,
                               std::span<const BlockId> keep,
                               const Missing& missing) {
  if (geometry.in_columns()) {
    return PlanInColumns(geometry, width, touched, keep, missing);
  }
  return PlanOf(geometry, width, {touched, keep}, missing);
}

}  // namespace ers::plan
