#include "plan/transition.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "plan/backward.h"
#include "plan/column_transition.h"
#include "plan/forward.h"
#include "plan/plan_builder.h"
#include "plan/stripe.h"

namespace ers::plan {
namespace {

bool Contains(std::span<const BlockId> blocks, BlockId id) {
  return std::find(blocks.begin(), blocks.end(), id) != blocks.end();
}

// Parity blocks of a form's width with these indices, stripe by stripe.
std::vector<BlockId> ParityBetween(const Geometry& geometry, Width width,
                                   int first, int end) {
  std::vector<BlockId> blocks;
  for (int p = first; p < end; ++p) {
    for (int s = 0; s < geometry.stripe_count(width); ++s) {
      blocks.push_back(geometry.ParityId(width, s, p));
    }
  }
  return blocks;
}

class Transition {
 public:
  Transition(const Geometry& geometry, const FormChange& change,
             const Missing& missing)
      : geometry_(geometry),
        from_(change.from.width),
        to_(change.to.width),
        stored_(change.from.m),
        wanted_(change.to.m),
        kept_(from_ == to_ ? std::min(stored_, wanted_) : 0),
        availability_(
            geometry, missing,
            ParityBetween(geometry, from_, stored_, geometry.scheme().m)),
        parities_(NewParities()),
        builder_(geometry),
        shares_(geometry.stripe_count(to_)) {
    assert(change.from != change.to);
    assert(geometry.scheme().elastic() || from_ == to_);
    assert(std::max(stored_, wanted_) <= geometry.scheme().m);
  }

  // False if the old stripe's share cannot be had.
  bool PlanStripe(int old_stripe, const Rule& rule) {
    if (parities_.empty()) return true;  // no server to write new parity to
    const Stripe stripe(geometry_, from_, old_stripe, availability_);
    const auto choice = Choose(stripe, rule);
    if (!choice) return false;
    if (choice->overlap && SameColumns(*choice->overlap)) {
      AddDifference(stripe, choice->reads, choice->overlap->target);
    } else {
      AddCombinations(stripe, choice->reads);
    }
    return true;
  }

  Plan Finish() && {
    Plan& plan = builder_.plan();
    AddSteps();
    for (const BlockId id : ParityBetween(geometry_, to_, kept_, wanted_)) {
      (availability_.Writable(id) ? plan.writes : plan.unwritten).push_back(id);
    }
    plan.drops = ParityBetween(geometry_, from_, kept_, stored_);
    return std::move(builder_).Build();
  }

 private:
  // The indices of those that are to be made.
  [[nodiscard]] std::vector<int> NewParities() const {
    std::vector<int> made;
    for (const int p : availability_.live_parities()) {
      if (p >= kept_ && p < wanted_) made.push_back(p);
    }
    return made;
  }

  // One input of the step that makes a new stripe's parity.
  struct Share {
    BlockId read;
    std::vector<std::uint8_t> column;
  };

  // What is read of an old stripe; `overlap` if its parity carries that over.
  struct Choice {
    std::vector<BlockId> reads;
    std::optional<Overlap> overlap;
  };

  std::optional<Choice> Choose(const Stripe& stripe, const Rule& rule) const {
    if (rule) {
      if (auto overlap = rule(stripe.index())) {
        if (auto choice = Around(stripe, *std::move(overlap))) return choice;
      } else if (stripe.Readable(stripe.data())) {
        return AnyBlocks(stripe);
      }
    }
    // k blocks always do. Fewer do only where one new stripe's share is
    // carried over by parity in more blocks than there are parities: two
    // stripes' shares are independent, and fill up the parities' span sooner.
    std::size_t fewest = stripe.data().size();
    std::optional<Choice> best;
    for (const auto& shared : Shared(stripe)) {
      if (shared.blocks.size() <= parities_.size()) continue;
      auto choice = Around(
          stripe, LargestOverlap(geometry_, {from_, to_}, parities_, shared));
      if (!choice || choice->reads.size() >= fewest) continue;
      fewest = choice->reads.size();
      best = std::move(choice);
    }
    return best ? best : AnyBlocks(stripe);
  }

  std::vector<Overlap> Shared(const Stripe& stripe) const {
    return SharedBlocks(geometry_, {from_, to_}, stripe.index());
  }

  static std::optional<Choice> AnyBlocks(const Stripe& stripe) {
    auto reads = stripe.AnyBlocks({});
    if (!reads) return std::nullopt;
    return Choice{*std::move(reads), std::nullopt};
  }

  // The parities and all data but the overlap, if they can all be read.
  std::optional<Choice> Around(const Stripe& stripe, Overlap overlap) const {
    std::vector<BlockId> reads;
    for (const BlockId id : stripe.data()) {
      if (!Contains(overlap.blocks, id)) reads.push_back(id);
    }
    for (const BlockId id : stripe.Parities(parities_)) reads.push_back(id);
    if (!stripe.Readable(reads)) return std::nullopt;
    return Choice{std::move(reads), std::move(overlap)};
  }

  std::vector<std::uint8_t> ColumnOfData(BlockId id, Width width) const {
    std::vector<std::uint8_t> column;
    column.reserve(parities_.size());
    for (const int p : parities_) {
      column.push_back(geometry_.Coefficient(id, width, p));
    }
    return column;
  }

  bool SameColumns(const Overlap& overlap) const {
    return std::all_of(
        overlap.blocks.begin(), overlap.blocks.end(), [this](BlockId id) {
          return ColumnOfData(id, from_) == ColumnOfData(id, to_);
        });
  }

  // With one matrix for all widths (lines 5 to 16 of algorithm 2): the old
  // parity as it is, each block read taken out of it, and added to the new
  // stripe that has it. The solver would find a shorter sum where the paper's
  // rule reads more than k blocks; that is the rule's own affair.
  void AddDifference(const Stripe& stripe, std::span<const BlockId> reads,
                     int target) {
    for (std::size_t i = 0; i < parities_.size(); ++i) {
      std::vector<std::uint8_t> unit(parities_.size(), 0);
      unit[i] = 1;
      shares_[target].push_back({stripe.parity(parities_[i]), unit});
    }
    for (const BlockId id : reads) {
      if (!geometry_.IsData(id)) continue;
      std::vector<std::uint8_t> leaving = ColumnOfData(id, from_);
      std::vector<std::uint8_t> entering = ColumnOfData(id, to_);
      const int new_stripe = geometry_.StripeOf(id, to_);
      if (new_stripe == target) {
        for (std::size_t i = 0; i < leaving.size(); ++i) {
          leaving[i] ^= entering[i];
        }
      } else {
        shares_[new_stripe].push_back({id, std::move(entering)});
      }
      shares_[target].push_back({id, std::move(leaving)});
    }
  }

  // What the stripe's data adds to the parity of each new stripe that has some
  // of it, said in terms of what is read.
  void AddCombinations(const Stripe& stripe, std::span<const BlockId> reads) {
    const auto parts = Shared(stripe);
    std::vector<code::Vector> wanted;
    for (const auto& part : parts) {
      for (const int p : parities_) {
        code::Vector& vector = wanted.emplace_back(stripe.data().size(), 0);
        for (const BlockId id : part.blocks) {
          vector[geometry_.RankOf(id, from_)] =
              geometry_.Coefficient(id, to_, p);
        }
      }
    }
    const auto combinations = stripe.Express(reads, wanted);
    for (std::size_t t = 0; t < parts.size(); ++t) {
      const auto rows = std::span(combinations)
                            .subspan(t * parities_.size(), parities_.size());
      for (std::size_t i = 0; i < reads.size(); ++i) {
        shares_[parts[t].target].push_back({reads[i], ColumnOf(rows, i)});
      }
    }
  }

  // The stripe that needs the fewest further blocks is next: parity is on its
  // way early, and after the last read only one stripe's is left to store.
  void AddSteps() {
    if (parities_.empty()) return;
    std::vector<int> left(shares_.size());
    std::iota(left.begin(), left.end(), 0);
    while (!left.empty()) {
      const auto next = std::min_element(
          left.begin(), left.end(),
          [this](int a, int b) { return BlocksToRead(a) < BlocksToRead(b); });
      AddStep(*next);
      left.erase(next);
    }
  }

  std::ptrdiff_t BlocksToRead(int new_stripe) const {
    const auto& shares = shares_[new_stripe];
    return std::count_if(shares.begin(), shares.end(), [this](const Share& s) {
      return !AllZero(s.column) && !builder_.Reads(s.read);
    });
  }

  void AddStep(int new_stripe) {
    const Stripe stripe(geometry_, to_, new_stripe, availability_);
    auto step = builder_.Begin(stripe.Parities(parities_));
    for (const Share& share : shares_[new_stripe]) {
      step.AddRead(share.read, share.column);
    }
    builder_.Finish(std::move(step));
  }

  const Geometry& geometry_;
  const Width from_;
  const Width to_;
  const int stored_;  // parity blocks of an old stripe
  const int wanted_;  // of a new one
  const int kept_;    // those that are the same
  const Availability availability_;
  const std::vector<int> parities_;  // the indices that are to be made
  PlanBuilder builder_;
  std::vector<std::vector<Share>> shares_;  // by new stripe
};

// Where the width stays, no parity carries over.
Rule RuleOf(const Geometry& geometry, WidthChange change,
            TransitionVariant variant) {
  if (change.from == change.to) return {};
  const bool forward =
      geometry.stripe_width(change.from) < geometry.stripe_width(change.to);
  return forward ? ForwardRule(geometry, change, variant)
                 : BackwardRule(geometry, change, variant);
}

}  // namespace

std::optional<Plan> PlanTransition(const Geometry& geometry,
                                   const FormChange& change,
                                   TransitionVariant variant,
                                   const Missing& missing) {
  if (geometry.in_columns()) {
    return PlanColumnTransition(
        geometry, change, missing, [&](const Missing& cells) {
          return PlanTransition(geometry.cells(), change, variant, cells);
        });
  }
  const Rule rule =
      RuleOf(geometry, {change.from.width, change.to.width}, variant);
  Transition transition(geometry, change, missing);
  for (int s = 0; s < geometry.stripe_count(change.from.width); ++s) {
    if (!transition.PlanStripe(s, rule)) return std::nullopt;
  }
  return std::move(transition).Finish();
}

std::optional<Plan> PlanTransition(const Geometry& geometry, WidthChange change,
                                   TransitionVariant variant,
                                   const Missing& missing) {
  const int m = geometry.scheme().m;
  return PlanTransition(geometry, FormChange{{change.from, m}, {change.to, m}},
                        variant, missing);
}

}  // namespace ers::plan
