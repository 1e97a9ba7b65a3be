// `ers-bench code`: encoding speed against raw ISA-L, one thread.
#ifndef ERS_EVAL_BENCH_CODE_BENCH_H_
#define ERS_EVAL_BENCH_CODE_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/samples.h"
#include "ers/status.h"

namespace ers::bench {

struct CodeOptions {
  int k_min = 4;
  int k_max = 12;
  int m_min = 1;
  int m_max = 4;
  std::size_t block_bytes = 65536;
  int repetitions = 30;
  std::uint64_t seed = 0;
  std::function<bool()> stopped;  // as StoreOptions::stopped
};

// `gb_per_s` counts data bytes: k * block_bytes per encoding, 10^9 to a GB.
struct CodeRow {
  int k = 0;
  int m = 0;
  std::size_t block_bytes = 0;
  // "raw" (ec_encode_data, tables made beforehand), a kernel's name, or "put":
  // what a PUT of rs:K,M does, the cached plan's steps by the default kernel.
  std::string name;
  Spread gb_per_s;
  double over_raw = 0;  // median of this over the median of raw
};

// Ways take turns, in an order shuffled from the seed, on the same buffers.
// Results are compared with raw's outside the timed part: kCorruption.
Result<std::vector<CodeRow>> RunCode(const CodeOptions& options);

// Columns: k,m,block_bytes,impl,gb_per_s,min_gb_per_s,max_gb_per_s,over_raw.
std::string RenderCode(const std::vector<CodeRow>& rows, Format format);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_CODE_BENCH_H_
