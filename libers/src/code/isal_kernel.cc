#include "code/kernels.h"

#if ERS_HAVE_ISAL_KERNEL

#include <isa-l/erasure_code.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "code/split_matrix.h"
#include "code/xor.h"

namespace ers::code {
namespace {

// What ISA-L expands a coefficient to.
constexpr std::size_t kTableBytes = 32;
// Rows that ISA-L computes in one pass over the inputs (AVX2 and wider). A row
// of ones that fills up such a pass costs less there than as a XOR; any other
// costs more: compare ers-bench code with other numbers here.
constexpr std::size_t kBatch = 4;
// Columns of a turn stay in the second-level cache between the XOR and the
// products that read them.
constexpr std::size_t kXorTurnBytes = 8192;
// Without XOR there is nothing to share; ISA-L counts bytes in an int.
constexpr std::size_t kLongTurnBytes = std::size_t{1} << 30;

class Isal final : public Kernel {
 public:
  Isal() {
    for (int c = 0; c < 256; ++c) {
      auto coefficient = static_cast<std::uint8_t>(c);
      ec_init_tables(1, 1, &coefficient, tables_[c].data());
    }
    // ISA-L picks its code on the first call, without a lock: do it here.
    std::array<std::uint8_t, 64> in{};
    std::array<std::uint8_t, 64> out{};
    std::uint8_t* input = in.data();
    std::uint8_t* output = out.data();
    ec_encode_data(64, 1, 1, tables_[1].data(), &input, &output);
  }

  std::string_view name() const override { return "isal"; }

  void Multiply(std::span<const std::uint8_t> coefficients,
                std::span<const std::uint8_t* const> inputs,
                std::span<std::uint8_t* const> outputs,
                std::size_t bytes) const override {
    assert(coefficients.size() == inputs.size() * outputs.size());
    if (bytes == 0) return;
    SplitMatrix split = Split(coefficients, inputs, outputs.size(), kBatch);
    const std::vector<std::uint8_t> tables = ExpandTables(split.coefficients);
    std::vector<std::uint8_t*> columns;
    columns.reserve(split.columns.size());
    for (const std::size_t c : split.columns) {
      // ISA-L's inputs lack a const that they deserve.
      columns.push_back(const_cast<std::uint8_t*>(inputs[c]));
    }
    std::vector<std::uint8_t*> rows;
    rows.reserve(split.rows.size());
    std::vector<char> in_rows(outputs.size(), 0);
    for (const std::size_t r : split.rows) {
      rows.push_back(outputs[r]);
      in_rows[r] = 1;
    }
    const bool any_xor =
        std::any_of(split.xors.begin(), split.xors.end(),
                    [](const auto& parts) { return !parts.empty(); });
    const std::size_t turn = any_xor ? kXorTurnBytes : kLongTurnBytes;
    for (std::size_t at = 0; at < bytes; at += turn) {
      const std::size_t length = std::min(turn, bytes - at);
      if (!rows.empty()) MultiplyTurn(tables, columns, rows, length);
      for (std::size_t r = 0; r < outputs.size(); ++r) {
        auto& parts = split.xors[r];
        if (in_rows[r] != 0 && parts.empty()) continue;
        XorBlocks(parts, outputs[r] + at, length, in_rows[r] != 0);
        for (auto& part : parts) part += length;
      }
      for (auto& column : columns) column += length;
      for (auto& row : rows) row += length;
    }
  }

 private:
  std::vector<std::uint8_t> ExpandTables(
      const std::vector<std::uint8_t>& coefficients) const {
    std::vector<std::uint8_t> tables(coefficients.size() * kTableBytes);
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      std::memcpy(&tables[i * kTableBytes], tables_[coefficients[i]].data(),
                  kTableBytes);
    }
    return tables;
  }

  static void MultiplyTurn(const std::vector<std::uint8_t>& tables,
                           std::vector<std::uint8_t*>& columns,
                           std::vector<std::uint8_t*>& rows,
                           std::size_t length) {
    ec_encode_data(static_cast<int>(length), static_cast<int>(columns.size()),
                   static_cast<int>(rows.size()),
                   const_cast<std::uint8_t*>(tables.data()), columns.data(),
                   rows.data());
  }

  // By coefficient: copying a table is far less work than expanding one.
  std::array<std::array<std::uint8_t, kTableBytes>, 256> tables_;
};

}  // namespace

const Kernel& IsalKernel() {
  static const Isal kernel;
  return kernel;
}

}  // namespace ers::code

#endif  // ERS_HAVE_ISAL_KERNEL
