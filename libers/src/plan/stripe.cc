#include "plan/stripe.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ers::plan {

Stripe::Stripe(const Geometry& geometry, Width width, int index,
               const Availability& availability)
    : geometry_(geometry),
      availability_(availability),
      width_(width),
      index_(index),
      data_(geometry.StripeData(width, index)) {}

std::vector<BlockId> Stripe::Parities(std::span<const int> indices) const {
  std::vector<BlockId> blocks;
  blocks.reserve(indices.size());
  for (const int p : indices) blocks.push_back(parity(p));
  return blocks;
}

bool Stripe::Readable(std::span<const BlockId> blocks) const {
  return std::all_of(blocks.begin(), blocks.end(),
                     [this](BlockId id) { return availability_.Readable(id); });
}

code::Vector Stripe::VectorOf(BlockId id) const {
  code::Vector vector(data_.size(), 0);
  if (geometry_.IsData(id)) {
    vector[geometry_.RankOf(id, width_)] = 1;
    return vector;
  }
  const int p = geometry_.Info(id, width_).parity;
  for (std::size_t i = 0; i < data_.size(); ++i) {
    vector[i] = geometry_.Coefficient(data_[i], width_, p);
  }
  return vector;
}

std::optional<std::vector<BlockId>> Stripe::AnyBlocks(
    std::span<const BlockId> preferred) const {
  std::vector<BlockId> chosen;
  const auto choose = [&](BlockId id) {
    if (chosen.size() == data_.size() || !availability_.Readable(id) ||
        std::find(chosen.begin(), chosen.end(), id) != chosen.end()) {
      return;
    }
    chosen.push_back(id);
  };
  for (const BlockId id : preferred) choose(id);
  for (const BlockId id : data_) choose(id);
  for (int p = 0; p < geometry_.scheme().m; ++p) choose(parity(p));
  if (chosen.size() < data_.size()) return std::nullopt;
  return chosen;
}

std::vector<code::Vector> Stripe::Express(
    std::span<const BlockId> reads,
    std::span<const code::Vector> wanted) const {
  std::vector<code::Vector> known;
  known.reserve(reads.size());
  for (const BlockId id : reads) known.push_back(VectorOf(id));
  auto combinations = code::Solve(known, wanted);
  assert(combinations.has_value());
  return *std::move(combinations);
}

std::vector<std::uint8_t> ColumnOf(std::span<const code::Vector> combinations,
                                   std::size_t input) {
  std::vector<std::uint8_t> column;
  column.reserve(combinations.size());
  for (const auto& row : combinations) column.push_back(row[input]);
  return column;
}

void AddRecovery(const Stripe& stripe, std::span<const BlockId> reads,
                 const std::vector<BlockId>& outputs, PlanBuilder& builder) {
  std::vector<code::Vector> wanted;
  wanted.reserve(outputs.size());
  for (const BlockId id : outputs) wanted.push_back(stripe.VectorOf(id));
  const auto combinations = stripe.Express(reads, wanted);
  auto step = builder.Begin(outputs);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    step.AddRead(reads[i], ColumnOf(combinations, i));
  }
  builder.Finish(std::move(step));
}

}  // namespace ers::plan
