#include "bench/code_bench.h"

#include <fmt/format.h>
#include <isa-l/erasure_code.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>

#include "bench/aligned_blocks.h"
#include "code/kernel.h"
#include "code/matrix.h"
#include "plan/plan_cache.h"

namespace ers::bench {
namespace {

constexpr std::size_t kTableBytes = 32;  // ISA-L's, per coefficient
// A sample encodes this much data, so that the clock's steps do not show.
constexpr std::size_t kSampleBytes = std::size_t{16} << 20;

struct EncodeWay {
  std::string name;
  std::function<void()> encode;
  std::vector<double> gb_per_s;
};

// One (k, m): its buffers, coefficients and ways.
class Race {
 public:
  Race(int k, int m, const CodeOptions& options, std::mt19937_64& random)
      : k_(k),
        m_(m),
        bytes_(options.block_bytes),
        data_(k, bytes_),
        parity_(m, bytes_),
        inputs_(data_.pointers().begin(), data_.pointers().end()) {
    for (std::uint8_t* block : data_.pointers()) {
      for (std::size_t i = 0; i < bytes_; ++i) {
        block[i] = static_cast<std::uint8_t>(random());
      }
    }
    for (const int cell : code::CodingMatrix(k, m)->cells) {
      coefficients_.push_back(static_cast<std::uint8_t>(cell));
    }
    tables_.resize(coefficients_.size() * kTableBytes);
    ec_init_tables(k, m, coefficients_.data(), tables_.data());
    put_plan_ = plan::CachedPutPlan(
        *layout::GetGeometry({SchemeKind::kRs, k, m, k}), Width::kNarrow);
    AddWays();
    EncodeRaw();
    for (const std::uint8_t* block : parity_.pointers()) {
      expected_.emplace_back(block, block + bytes_);
    }
  }

  Status Repeat(std::mt19937_64& random, bool counted) {
    std::vector<std::size_t> order(ways_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    const std::size_t data_bytes = bytes_ * static_cast<std::size_t>(k_);
    const std::size_t rounds =
        std::max<std::size_t>(1, kSampleBytes / data_bytes);
    for (const std::size_t i : order) {
      EncodeWay& way = ways_[i];
      for (std::uint8_t* block : parity_.pointers()) {
        std::memset(block, 0, bytes_);
      }
      way.encode();
      const auto begin = std::chrono::steady_clock::now();
      for (std::size_t round = 0; round < rounds; ++round) way.encode();
      const std::chrono::duration<double, std::nano> taken =
          std::chrono::steady_clock::now() - begin;
      if (!AsExpected()) {
        return {StatusCode::kCorruption,
                fmt::format("{} at k={}, m={} differs from raw ISA-L", way.name,
                            k_, m_)};
      }
      if (counted) {
        way.gb_per_s.push_back(static_cast<double>(rounds * data_bytes) /
                               taken.count());
      }
    }
    return {};
  }

  void AddRows(std::vector<CodeRow>* rows) const {
    const double raw = Summarise(ways_.front().gb_per_s).median;
    for (const EncodeWay& way : ways_) {
      const Spread spread = Summarise(way.gb_per_s);
      rows->push_back({k_, m_, bytes_, way.name, spread, spread.median / raw});
    }
  }

 private:
  void EncodeRaw() {
    ec_encode_data(static_cast<int>(bytes_), k_, m_, tables_.data(),
                   const_cast<std::uint8_t**>(data_.pointers().data()),
                   const_cast<std::uint8_t**>(parity_.pointers().data()));
  }

  // The buffers of the blocks of one plan step, then its product.
  void EncodePut() {
    const code::Kernel& kernel = code::DefaultKernel();
    for (const plan::Step& step : put_plan_->steps) {
      std::vector<const std::uint8_t*> from;
      std::vector<std::uint8_t*> to;
      for (const std::uint32_t i : step.inputs) {
        from.push_back(inputs_[put_plan_->given[i]]);
      }
      for (const layout::BlockId id : step.outputs) {
        to.push_back(parity_.pointers()[id - static_cast<unsigned>(k_)]);
      }
      kernel.Multiply(step.coefficients, from, to, bytes_);
    }
  }

  void AddWays() {
    ways_.push_back({"raw", [this] { EncodeRaw(); }, {}});
    for (const code::Kernel* kernel : code::AllKernels()) {
      ways_.push_back({std::string(kernel->name()),
                       [this, kernel] {
                         kernel->Multiply(coefficients_, inputs_,
                                          parity_.pointers(), bytes_);
                       },
                       {}});
    }
    ways_.push_back({"put", [this] { EncodePut(); }, {}});
  }

  [[nodiscard]] bool AsExpected() const {
    for (std::size_t p = 0; p < expected_.size(); ++p) {
      if (std::memcmp(parity_.pointers()[p], expected_[p].data(), bytes_) !=
          0) {
        return false;
      }
    }
    return true;
  }

  int k_;
  int m_;
  std::size_t bytes_;
  AlignedBlocks data_;
  AlignedBlocks parity_;
  std::vector<const std::uint8_t*> inputs_;
  std::vector<std::uint8_t> coefficients_;
  std::vector<std::uint8_t> tables_;
  std::shared_ptr<const plan::Plan> put_plan_;
  std::vector<std::vector<std::uint8_t>> expected_;
  std::vector<EncodeWay> ways_;  // raw first
};

}  // namespace

Result<std::vector<CodeRow>> RunCode(const CodeOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<CodeRow> rows;
  for (int k = options.k_min; k <= options.k_max; ++k) {
    for (int m = options.m_min; m <= options.m_max; ++m) {
      // Ways point into the race, so it stays where it is.
      const auto race = std::make_unique<Race>(k, m, options, random);
      for (int i = -1; i < options.repetitions; ++i) {
        if (options.stopped && options.stopped()) {
          return Fail(StatusCode::kUnavailable, "interrupted");
        }
        Status done = race->Repeat(random, i >= 0);
        if (!done.ok()) return Fail(std::move(done));
      }
      race->AddRows(&rows);
    }
  }
  return rows;
}

std::string RenderCode(const std::vector<CodeRow>& rows, Format format) {
  std::vector<std::vector<std::string>> lines = {
      {"k", "m", "block_bytes", "impl", "gb_per_s", "min_gb_per_s",
       "max_gb_per_s", "over_raw"}};
  for (const CodeRow& row : rows) {
    lines.push_back({std::to_string(row.k), std::to_string(row.m),
                     std::to_string(row.block_bytes), row.name,
                     fmt::format("{:.2f}", row.gb_per_s.median),
                     fmt::format("{:.2f}", row.gb_per_s.min),
                     fmt::format("{:.2f}", row.gb_per_s.max),
                     fmt::format("{:.3f}", row.over_raw)});
  }
  return Render(lines, format);
}

}  // namespace ers::bench
