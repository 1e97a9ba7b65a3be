#include "code/kernel.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "unit/code/reference.h"

namespace ers::code {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A block `offset` bytes past an aligned address, with guard bytes around it.
class Block {
 public:
  Block(std::size_t offset, std::size_t bytes)
      : begin_(kGuard + offset),
        bytes_(bytes),
        store_(begin_ + bytes + kGuard) {
    std::memset(store_.data(), kFill, store_.size());
    while (reinterpret_cast<std::uintptr_t>(data()) % 64 != offset) ++begin_;
    store_.resize(begin_ + bytes + kGuard + 64, kFill);
  }
  std::uint8_t* data() { return store_.data() + begin_; }
  Bytes content() { return Bytes(data(), data() + bytes_); }
  bool guards_intact() {
    for (std::size_t i = 0; i < store_.size(); ++i) {
      if (i >= begin_ && i < begin_ + bytes_) continue;
      if (store_[i] != kFill) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::uint8_t kFill = 0xa5;
  std::size_t begin_;
  std::size_t bytes_;
  Bytes store_;
};

Bytes ReferenceRow(const Bytes& coefficients, std::size_t row,
                   const std::vector<Bytes>& inputs, std::size_t bytes) {
  Bytes sum(bytes, 0);
  for (std::size_t c = 0; c < inputs.size(); ++c) {
    const auto factor = coefficients[row * inputs.size() + c];
    for (std::size_t i = 0; i < bytes; ++i) {
      sum[i] ^= BitwiseProduct(factor, inputs[c][i]);
    }
  }
  return sum;
}

// Multiplies with every kernel, blocks at varied offsets, and compares.
void CheckProduct(const Bytes& coefficients, std::size_t output_count,
                  std::size_t input_count, std::size_t bytes, std::size_t shift,
                  std::mt19937& random) {
  std::vector<Bytes> contents(input_count, Bytes(bytes));
  std::vector<Block> sources;
  for (std::size_t c = 0; c < input_count; ++c) {
    for (auto& byte : contents[c]) byte = static_cast<std::uint8_t>(random());
    sources.emplace_back((shift + c * 7) % 64, bytes);
  }
  std::vector<const std::uint8_t*> inputs;
  for (std::size_t c = 0; c < input_count; ++c) {
    if (bytes > 0) {
      std::memcpy(sources[c].data(), contents[c].data(), bytes);
    }
    inputs.push_back(sources[c].data());
  }
  for (const Kernel* kernel : AllKernels()) {
    CAPTURE(kernel->name(), bytes, shift, output_count, input_count);
    std::vector<Block> targets;
    for (std::size_t r = 0; r < output_count; ++r) {
      targets.emplace_back((shift * 3 + r * 5) % 64, bytes);
    }
    std::vector<std::uint8_t*> outputs;
    for (auto& target : targets) outputs.push_back(target.data());
    kernel->Multiply(coefficients, inputs, outputs, bytes);
    for (std::size_t r = 0; r < output_count; ++r) {
      CAPTURE(r);
      REQUIRE(targets[r].content() ==
              ReferenceRow(coefficients, r, contents, bytes));
      REQUIRE(targets[r].guards_intact());
    }
  }
}

TEST_CASE("every kernel that was built in can be found by its kind") {
  REQUIRE(FindKernel(KernelKind::kGfComplete) != nullptr);
  CHECK(FindKernel(KernelKind::kGfComplete)->name() == "gf-complete");
  const Kernel* isal = FindKernel(KernelKind::kIsal);
  if (isal != nullptr) {
    CHECK(isal->name() == "isal");
    CHECK(&DefaultKernel() == isal);
    CHECK(AllKernels().size() == 2);
  } else {
    CHECK(&DefaultKernel() == FindKernel(KernelKind::kGfComplete));
    CHECK(AllKernels().size() == 1);
  }
}

TEST_CASE("all 65,536 products of both kernels equal shift and add") {
  Bytes symbols(256);
  for (int i = 0; i < 256; ++i) symbols[i] = static_cast<std::uint8_t>(i);
  const Bytes zeros(256, 0);
  for (const Kernel* kernel : AllKernels()) {
    CAPTURE(kernel->name());
    for (int factor = 0; factor < 256; ++factor) {
      const Bytes coefficients{static_cast<std::uint8_t>(factor), 2};
      const std::uint8_t* inputs[] = {symbols.data(), zeros.data()};
      Bytes product(256);
      std::uint8_t* outputs[] = {product.data()};
      kernel->Multiply(coefficients, inputs, outputs, 256);
      for (int symbol = 0; symbol < 256; ++symbol) {
        REQUIRE(product[symbol] == BitwiseProduct(factor, symbol));
      }
    }
  }
}

TEST_CASE("kernels take any length and any alignment") {
  const unsigned seed = 20240917;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<std::size_t> lengths{511, 4097, 8191, 8192, 8193, 20001};
  for (std::size_t n = 0; n <= 130; ++n) lengths.push_back(n);
  for (const std::size_t bytes : lengths) {
    for (const std::size_t shift : {0, 1, 8, 17}) {
      Bytes coefficients(3 * 5);
      for (auto& cell : coefficients) {
        cell = static_cast<std::uint8_t>(random());
      }
      std::fill_n(coefficients.begin(), 5, 1);
      CheckProduct(coefficients, 3, 5, bytes, shift, random);
    }
  }
}

TEST_CASE("kernels take rows and columns of every kind") {
  const unsigned seed = 4711;
  CAPTURE(seed);
  std::mt19937 random(seed);
  // Cells from few values make rows of ones, units, zero rows and columns.
  const std::uint8_t cells[] = {0, 0, 1, 1, 1, 2, 29};
  for (int round = 0; round < 2000; ++round) {
    const std::size_t output_count = random() % 6;
    const std::size_t input_count = random() % 9;
    const std::size_t choices = 1 + random() % 7;
    Bytes coefficients(output_count * input_count);
    for (auto& cell : coefficients) cell = cells[random() % choices];
    CheckProduct(coefficients, output_count, input_count, 1 + random() % 80,
                 random() % 64, random);
  }
}

TEST_CASE("a row of ones beside three others and five others is right") {
  const unsigned seed = 99;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const std::size_t rows : {1, 2, 3, 4, 5, 8, 9}) {
    Bytes coefficients(rows * 12);
    for (auto& cell : coefficients) {
      cell = static_cast<std::uint8_t>(1 + random() % 255);
    }
    std::fill_n(coefficients.begin(), 12, 1);
    CheckProduct(coefficients, rows, 12, 9001, 3, random);
  }
}

}  // namespace
}  // namespace ers::code
