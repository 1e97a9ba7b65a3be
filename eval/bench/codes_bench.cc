#include "bench/codes_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>

#include "bench/aligned_blocks.h"
#include "bench/foreign_codes.h"

namespace ers::bench {
namespace {

// A sample encodes this much data, so that the clock's steps do not show.
constexpr std::size_t kCodedBytes = std::size_t{8} << 20;
constexpr std::size_t kMaxRounds = 2048;  // for tiny objects, that suffices
constexpr int kMaxBlocks = 255;           // of one stripe, in GF(2^8)

// One code with blocks of its own, as each pads them in its own way.
class SampledCode {
 public:
  SampledCode(std::unique_ptr<ForeignCode> code, const CodesOptions& options,
              std::size_t object_bytes, std::mt19937_64& random)
      : code_(std::move(code)),
        options_(&options),
        object_bytes_(object_bytes),
        data_(options.k, code_->block_bytes()),
        parity_(options.m, code_->block_bytes()) {
    for (std::uint8_t* block : data_.pointers()) {
      std::generate_n(block, code_->block_bytes(), [&random] {
        return static_cast<std::uint8_t>(random());
      });
    }
  }

  // Whether lost data comes back from the parity that it makes.
  Status Check() {
    if (code_->w() == 0) return {};
    Encode();
    const int lost = std::min(options_->k, options_->m);
    std::vector<std::vector<std::uint8_t>> kept;
    for (int i = 0; i < lost; ++i) {
      std::uint8_t* block = data_.pointers()[static_cast<std::size_t>(i)];
      kept.emplace_back(block, block + code_->block_bytes());
      std::memset(block, 0, code_->block_bytes());
    }
    bool same = code_->Decode(data_.pointers(), parity_.pointers());
    for (std::size_t i = 0; same && i < kept.size(); ++i) {
      same = std::equal(kept[i].begin(), kept[i].end(), data_.pointers()[i]);
    }
    if (same) return {};
    return {StatusCode::kCorruption,
            fmt::format("{} with k={}, m={} and blocks of {} bytes does not "
                        "give back what was encoded",
                        code_->name(), options_->k, options_->m,
                        code_->block_bytes())};
  }

  void Repeat(bool counted) {
    Encode();
    const std::size_t rounds =
        std::clamp<std::size_t>(kCodedBytes / object_bytes_, 1, kMaxRounds);
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t round = 0; round < rounds; ++round) Encode();
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - begin;
    if (counted)
      samples_.push_back(taken.count() / static_cast<double>(rounds));
  }

  [[nodiscard]] CodesRow ToRow() const {
    return {code_->name(), options_->k,          options_->m,        code_->w(),
            object_bytes_, code_->block_bytes(), Summarise(samples_)};
  }

 private:
  void Encode() { code_->Encode(data_.pointers(), parity_.pointers()); }

  std::unique_ptr<ForeignCode> code_;
  const CodesOptions* options_;
  std::size_t object_bytes_;
  AlignedBlocks data_;
  AlignedBlocks parity_;
  std::vector<double> samples_;
};

Status RunSize(const CodesOptions& options, std::size_t object_bytes,
               std::mt19937_64& random, std::vector<CodesRow>* rows) {
  const auto k = static_cast<std::size_t>(options.k);
  std::vector<SampledCode> ways;
  for (auto& code :
       ForeignCodes(options.k, options.m, (object_bytes + k - 1) / k)) {
    ways.emplace_back(std::move(code), options, object_bytes, random);
    Status checked = ways.back().Check();
    if (!checked.ok()) return checked;
  }
  std::vector<std::size_t> order(ways.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int i = -1; i < options.repetitions; ++i) {
    if (options.stopped && options.stopped()) {
      return {StatusCode::kUnavailable, "interrupted"};
    }
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t way : order) ways[way].Repeat(i >= 0);
  }
  for (const SampledCode& way : ways) rows->push_back(way.ToRow());
  return {};
}

}  // namespace

Result<std::vector<CodesRow>> RunCodes(const CodesOptions& options) {
  if (options.k < 2 || options.m < 1 || options.k + options.m > kMaxBlocks) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("no code has k={} and m={}: k is at least 2, m at "
                            "least 1, both together at most {}",
                            options.k, options.m, kMaxBlocks));
  }
  std::mt19937_64 random(options.seed);
  std::vector<CodesRow> rows;
  for (const std::size_t object_bytes : options.object_bytes) {
    Status done = RunSize(options, object_bytes, random, &rows);
    if (!done.ok()) return Fail(std::move(done));
  }
  return rows;
}

std::string RenderCodes(const std::vector<CodesRow>& rows, Format format) {
  std::vector<std::vector<std::string>> lines = {
      {"code", "k", "m", "w", "object_bytes", "block_bytes", "us", "min_us",
       "max_us", "gb_per_s"}};
  for (const CodesRow& row : rows) {
    const Spread& us = row.microseconds;
    const double gb_per_s =
        static_cast<double>(row.object_bytes) / us.median / 1e3;
    lines.push_back(
        {row.code, std::to_string(row.k), std::to_string(row.m),
         std::to_string(row.w), std::to_string(row.object_bytes),
         std::to_string(row.block_bytes), fmt::format("{:.3f}", us.median),
         fmt::format("{:.3f}", us.min), fmt::format("{:.3f}", us.max),
         row.w == 0 ? "" : fmt::format("{:.2f}", gb_per_s)});
  }
  return Render(lines, format);
}

}  // namespace ers::bench
