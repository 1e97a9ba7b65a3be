#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "plan/availability.h"
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

}  // namespace

std::optional<Plan> PlanUpdate(const Geometry& geometry, Width width,
                               std::span<const BlockId> touched,
                               std::span<const BlockId> keep,
                               const Missing& missing) {
  const Availability availability(geometry, missing);
  PlanBuilder builder(geometry);
  builder.Give(touched);
  Plan& plan = builder.plan();
  const auto write = [&](BlockId id) {
    (availability.Writable(id) ? plan.writes : plan.unwritten).push_back(id);
  };

  std::map<int, Change> changes;
  for (const BlockId id : plan.given) {
    write(id);
    changes[geometry.StripeOf(id, width)].touched.push_back(id);
  }
  for (const BlockId id : keep) {
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
  return std::move(builder).Build();
}

}  // namespace ers::plan
