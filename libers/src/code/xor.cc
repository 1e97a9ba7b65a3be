#include "code/xor.h"

#include <algorithm>
#include <cstring>

namespace ers::code {
namespace {

using Bytes = const std::uint8_t*;

// ISA-L's xor_gen wants aligned blocks and writes past the cache, where the
// next reader misses it. These loops vectorise, take any alignment, and sum up
// to four inputs for each time they touch the output.
template <int kInputs>
[[gnu::always_inline]] inline void AddInputs(const Bytes* inputs,
                                             std::uint8_t* output,
                                             std::size_t bytes, bool add) {
  Bytes a = inputs[0];
  Bytes b = inputs[kInputs > 1 ? 1 : 0];
  Bytes c = inputs[kInputs > 2 ? 2 : 0];
  Bytes d = inputs[kInputs > 3 ? 3 : 0];
  std::uint8_t* __restrict target = output;
  const auto sum = [&](std::size_t i) {
    std::uint8_t value = a[i];
    if constexpr (kInputs > 1) value ^= b[i];
    if constexpr (kInputs > 2) value ^= c[i];
    if constexpr (kInputs > 3) value ^= d[i];
    return value;
  };
  if (add) {
    for (std::size_t i = 0; i < bytes; ++i) target[i] ^= sum(i);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) target[i] = sum(i);
  }
}

[[gnu::always_inline]] inline void AddUpToFour(std::size_t count,
                                               const Bytes* inputs,
                                               std::uint8_t* output,
                                               std::size_t bytes, bool add) {
  switch (count) {
    case 1:
      return AddInputs<1>(inputs, output, bytes, add);
    case 2:
      return AddInputs<2>(inputs, output, bytes, add);
    case 3:
      return AddInputs<3>(inputs, output, bytes, add);
    default:
      return AddInputs<4>(inputs, output, bytes, add);
  }
}

void AddPlain(std::size_t count, const Bytes* inputs, std::uint8_t* output,
              std::size_t bytes, bool add) {
  AddUpToFour(count, inputs, output, bytes, add);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void AddAvx2(std::size_t count, const Bytes* inputs,
                                     std::uint8_t* output, std::size_t bytes,
                                     bool add) {
  AddUpToFour(count, inputs, output, bytes, add);
}

bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

void Add(std::size_t count, const Bytes* inputs, std::uint8_t* output,
         std::size_t bytes, bool add) {
#if defined(__x86_64__)
  if (HasAvx2()) return AddAvx2(count, inputs, output, bytes, add);
#endif
  AddPlain(count, inputs, output, bytes, add);
}

}  // namespace

void XorBlocks(std::span<const std::uint8_t* const> inputs,
               std::uint8_t* output, std::size_t bytes, bool add) {
  if (bytes == 0) return;
  if (!add && inputs.size() <= 1) {
    if (inputs.empty()) {
      std::memset(output, 0, bytes);
    } else {
      std::memcpy(output, inputs[0], bytes);
    }
    return;
  }
  // Small enough that the output stays in the first-level cache between turns.
  constexpr std::size_t kTurnBytes = 8192;
  for (std::size_t at = 0; at < bytes; at += kTurnBytes) {
    const std::size_t length = std::min(kTurnBytes, bytes - at);
    bool adding = add;
    for (std::size_t i = 0; i < inputs.size(); i += 4) {
      const std::size_t count = std::min<std::size_t>(4, inputs.size() - i);
      Bytes sources[4];
      for (std::size_t j = 0; j < count; ++j) sources[j] = inputs[i + j] + at;
      for (std::size_t j = count; j < 4; ++j) sources[j] = sources[0];
      Add(count, sources, output + at, length, adding);
      adding = true;
    }
  }
}

}  // namespace ers::code
