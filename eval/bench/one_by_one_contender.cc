#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "bench/contenders.h"
#include "bench/plain_client.h"
#include "bench/plan_runner.h"
#include "code/kernel.h"
#include "layout/geometry.h"
#include "plan/plan_cache.h"
#include "plan/planners.h"

namespace ers::bench {
namespace {

using layout::BlockId;

// The value is one group of l blocks, the last ones padded with zeros. Old
// parity is left behind by transitions, which favours this contender.
class OneByOneContender final : public Contender {
 public:
  OneByOneContender(const Scheme& scheme, std::unique_ptr<PlainClient> client)
      : geometry_(scheme),
        client_(std::move(client)),
        kernel_(code::DefaultKernel()) {}

  std::string name() const override { return "one-by-one"; }
  std::string scheme() const override {
    return FormatScheme(geometry_.scheme());
  }
  bool Measures(Case c) const override {
    const bool transition = c == Case::kForward || c == Case::kBackward;
    return !transition || geometry_.scheme().elastic();
  }

  Status Put(const Key& key, std::span<const std::byte> value) override {
    const auto plan = plan::CachedPutPlan(geometry_, Width::kNarrow);
    value_bytes_ = value.size();
    const std::size_t bytes = BlockBytes();
    std::vector<const std::uint8_t*> inputs;
    for (const BlockId id : plan->given) inputs.push_back(Split(value, id));
    runner_.Run(*plan, kernel_, inputs, bytes);
    for (std::size_t i = 0; i < plan->given.size(); ++i) {
      Status set = SetBlock(key, plan->given[i], inputs[i]);
      if (!set.ok()) return set;
    }
    Status set = SetOutputs(key, *plan);
    if (set.ok()) widths_[key.number] = Width::kNarrow;
    return set;
  }

  Result<std::span<const std::byte>> Get(const Key& key) override {
    value_ = std::make_unique_for_overwrite<std::byte[]>(value_bytes_);
    const std::size_t bytes = BlockBytes();
    for (std::size_t at = 0, id = 0; at < value_bytes_; at += bytes, ++id) {
      const auto block = GetBlock(key, static_cast<BlockId>(id));
      if (!block.has_value()) return Fail(block.error());
      std::memcpy(value_.get() + at, block->data.get(),
                  std::min(bytes, value_bytes_ - at));
    }
    return std::span<const std::byte>(value_.get(), value_bytes_);
  }

  Status Update(const Key& key, std::span<const std::byte> value,
                Range range) override {
    const std::size_t bytes = BlockBytes();
    std::vector<BlockId> touched;
    for (std::size_t id = range.offset / bytes;
         id * bytes < range.offset + range.length; ++id) {
      touched.push_back(static_cast<BlockId>(id));
    }
    const auto plan =
        plan::PlanUpdate(geometry_, widths_[key.number], touched, {}, {});
    if (!plan.has_value()) return NoPlan();
    return RunPlan(key, *plan, value);
  }

  Status Transition(const Key& key, Width to) override {
    constexpr auto kOptimal = plan::TransitionVariant::kOptimal;
    const int m = geometry_.scheme().m;
    const plan::FormChange change{{widths_[key.number], m}, {to, m}};
    const auto plan = plan::CachedTransitionPlan(geometry_, change, kOptimal);
    Status moved = RunPlan(key, *plan, {});
    if (moved.ok()) widths_[key.number] = to;
    return moved;
  }

  void Release() override { value_.reset(); }

  Status Remove(const Key& key) override {
    const int ids = geometry_.block_id_count();
    for (int id = 0; id < ids; ++id) {
      const auto block = static_cast<BlockId>(id);
      Status removed =
          client_->Delete(Server(key, block), BlockKey(key, block));
      if (!removed.ok()) return removed;
    }
    return {};
  }

 private:
  static Status NoPlan() {
    return {StatusCode::kCorruption, "one-by-one: no plan"};
  }

  [[nodiscard]] std::size_t BlockBytes() const {
    const auto blocks = static_cast<std::size_t>(geometry_.data_blocks());
    return std::max<std::size_t>((value_bytes_ + blocks - 1) / blocks, 1);
  }

  static std::string BlockKey(const Key& key, BlockId id) {
    return fmt::format("{}#{}", key.text, id);
  }

  [[nodiscard]] std::size_t Server(const Key& key, BlockId id) const {
    return (key.number + static_cast<std::size_t>(geometry_.NodeOf(id))) %
           client_->server_count();
  }

  Status SetBlock(const Key& key, BlockId id, const std::uint8_t* block) {
    return client_->Set(
        Server(key, id), BlockKey(key, id),
        {reinterpret_cast<const std::byte*>(block), BlockBytes()});
  }

  Status SetOutputs(const Key& key, const plan::Plan& plan) {
    for (const BlockId id : plan.writes) {
      const std::uint8_t* block = runner_.Output(id);
      if (block == nullptr) continue;  // a given block
      Status set = SetBlock(key, id, block);
      if (!set.ok()) return set;
    }
    return {};
  }

  Result<Fetched> GetBlock(const Key& key, BlockId id) {
    auto block = client_->Get(Server(key, id), BlockKey(key, id));
    if (block.has_value() && block->size != BlockBytes()) {
      return Fail(
          StatusCode::kCorruption,
          fmt::format("one-by-one: block {} has {} bytes", id, block->size));
    }
    return block;
  }

  // The data block in place where it is whole, else padded with zeros.
  const std::uint8_t* Split(std::span<const std::byte> value, BlockId id) {
    const std::size_t bytes = BlockBytes();
    const std::size_t at = bytes * id;
    if (at + bytes <= value.size()) {
      return reinterpret_cast<const std::uint8_t*>(value.data() + at);
    }
    std::vector<std::uint8_t>& block = padded_[id];
    block.assign(bytes, 0);
    if (at < value.size()) {
      std::memcpy(block.data(), value.data() + at, value.size() - at);
    }
    return block.data();
  }

  // Reads, computes and writes; `value` holds the given blocks.
  Status RunPlan(const Key& key, const plan::Plan& plan,
                 std::span<const std::byte> value) {
    std::vector<Fetched> fetched;
    std::vector<const std::uint8_t*> inputs;
    for (const BlockId id : plan.reads) {
      auto block = GetBlock(key, id);
      if (!block.has_value()) return block.error();
      inputs.push_back(
          reinterpret_cast<const std::uint8_t*>(block->data.get()));
      fetched.push_back(std::move(*block));
    }
    for (const BlockId id : plan.given) inputs.push_back(Split(value, id));
    runner_.Run(plan, kernel_, inputs, BlockBytes());
    for (std::size_t i = 0; i < plan.given.size(); ++i) {
      Status set = SetBlock(key, plan.given[i], inputs[plan.reads.size() + i]);
      if (!set.ok()) return set;
    }
    return SetOutputs(key, plan);
  }

  layout::Geometry geometry_;
  std::unique_ptr<PlainClient> client_;
  const code::Kernel& kernel_;
  PlanRunner runner_;
  std::map<BlockId, std::vector<std::uint8_t>> padded_;
  std::map<std::size_t, Width> widths_;  // by Key::number
  std::size_t value_bytes_ = 0;          // the same for every key
  std::unique_ptr<std::byte[]> value_;
};

}  // namespace

Result<std::unique_ptr<Contender>> MakeOneByOneContender(const Field& field) {
  auto client = PlainClient::Open(field.servers);
  if (!client.has_value()) return Fail(client.error());
  return std::make_unique<OneByOneContender>(field.scheme, std::move(*client));
}

}  // namespace ers::bench
