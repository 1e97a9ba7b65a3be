#include <algorithm>
#include <cassert>
#include <cstring>

#include "code/field.h"
#include "code/jerasure_guard.h"
#include "code/kernels.h"
#include "code/split_matrix.h"
#include "code/xor.h"

extern "C" {
#include <galois.h>
}

namespace ers::code {
namespace {

constexpr std::size_t kCopyBytes = 8192;
// Each product is a pass of its own here.
constexpr std::size_t kNoBatch = static_cast<std::size_t>(-1);
// gf-complete ends the process unless source and target are equally far from
// a multiple of this, and writes past a region that ends before the first one.
constexpr std::size_t kAlignment = 16;

std::size_t Offset(const std::uint8_t* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % kAlignment;
}

void MultiplyBytes(std::uint8_t factor, const std::uint8_t* source,
                   std::uint8_t* target, std::size_t bytes, bool add) {
  if (!add) std::fill_n(target, bytes, 0);
  AddProduct(factor, source, target, bytes);
}

// target (+)= factor * source for up to kCopyBytes bytes: aligned vectors by
// gf-complete, what sticks out at either end byte by byte.
void MultiplyRegion(std::uint8_t factor, const std::uint8_t* source,
                    std::uint8_t* target, std::size_t bytes, bool add) {
  const std::size_t head =
      std::min((kAlignment - Offset(target)) % kAlignment, bytes);
  const std::size_t middle = (bytes - head) / kAlignment * kAlignment;
  const std::size_t tail = head + middle;
  MultiplyBytes(factor, source, target, head, add);
  MultiplyBytes(factor, source + tail, target + tail, bytes - tail, add);
  if (middle == 0) return;

  alignas(kAlignment) std::uint8_t copy[kCopyBytes];
  const std::uint8_t* aligned = source + head;
  if (Offset(aligned) != 0) {
    std::memcpy(copy, aligned, middle);
    aligned = copy;
  }
  // Jerasure's source lacks a const that it deserves.
  galois_w08_region_multiply(
      reinterpret_cast<char*>(const_cast<std::uint8_t*>(aligned)), factor,
      static_cast<int>(middle), reinterpret_cast<char*>(target + head),
      add ? 1 : 0);
}

class GfComplete final : public Kernel {
 public:
  GfComplete() { InitJerasureField8(); }

  std::string_view name() const override { return "gf-complete"; }

  void Multiply(std::span<const std::uint8_t> coefficients,
                std::span<const std::uint8_t* const> inputs,
                std::span<std::uint8_t* const> outputs,
                std::size_t bytes) const override {
    assert(coefficients.size() == inputs.size() * outputs.size());
    const SplitMatrix split =
        Split(coefficients, inputs, outputs.size(), kNoBatch);
    for (std::size_t at = 0; at < bytes; at += kCopyBytes) {
      const std::size_t length = std::min(kCopyBytes, bytes - at);
      std::vector<char> begun(outputs.size(), 0);
      for (std::size_t i = 0; i < split.rows.size(); ++i) {
        const std::size_t r = split.rows[i];
        for (std::size_t d = 0; d < split.columns.size(); ++d) {
          const std::uint8_t factor =
              split.coefficients[i * split.columns.size() + d];
          if (factor == 0) continue;
          MultiplyRegion(factor, inputs[split.columns[d]] + at, outputs[r] + at,
                         length, begun[r] != 0);
          begun[r] = 1;
        }
      }
      for (std::size_t r = 0; r < outputs.size(); ++r) {
        std::vector<const std::uint8_t*> parts = split.xors[r];
        if (begun[r] != 0 && parts.empty()) continue;
        for (auto& part : parts) part += at;
        XorBlocks(parts, outputs[r] + at, length, begun[r] != 0);
      }
    }
  }
};

}  // namespace

const Kernel& GfCompleteKernel() {
  static const GfComplete kernel;
  return kernel;
}

}  // namespace ers::code
