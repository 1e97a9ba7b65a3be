// `ers-bench codes`: what parity of one object costs by other codes, one
// thread.
#ifndef ERS_EVAL_BENCH_CODES_BENCH_H_
#define ERS_EVAL_BENCH_CODES_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/samples.h"
#include "ers/status.h"

namespace ers::bench {

struct CodesOptions {
  int k = 4;
  int m = 2;  // 2 for Liberation codes to take part
  std::vector<std::size_t> object_bytes = {4096, 65536, 1048576};
  int repetitions = 30;
  std::uint64_t seed = 0;
  std::function<bool()> stopped;  // as StoreOptions::stopped
};

struct CodesRow {
  // "none", "isal" (Reed-Solomon by ISA-L, tables made beforehand), or by
  // Jerasure "rs", "rs-16" (words of 16 bits), "cauchy-rs" and "liberation".
  std::string code;
  int k = 0;
  int m = 0;
  int w = 0;  // 0 for none
  std::size_t object_bytes = 0;
  // Of a data block, padded to what the code's words and packets ask for.
  std::size_t block_bytes = 0;
  Spread microseconds;  // of one object's parity
};

// Ways take turns, in an order shuffled from the seed. Outside the timed part,
// as many data blocks as there are parity blocks are lost and decoded again:
// kCorruption if they differ. kInvalidArgument if some code cannot have k and
// m.
Result<std::vector<CodesRow>> RunCodes(const CodesOptions& options);

// Columns: code,k,m,w,object_bytes,block_bytes,us,min_us,max_us,gb_per_s. GB
// of the object, 10^9 to a GB; empty for none.
std::string RenderCodes(const std::vector<CodesRow>& rows, Format format);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_CODES_BENCH_H_
