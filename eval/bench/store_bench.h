// `ers-bench store`: the contenders on the same servers, in the same process,
// taking turns.
#ifndef ERS_EVAL_BENCH_STORE_BENCH_H_
#define ERS_EVAL_BENCH_STORE_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "bench/samples.h"

namespace ers::bench {

struct StoreOptions {
  Scheme scheme;
  std::size_t bytes = 0;  // of each value, at least 1
  // Empty: as many memcached processes of our own as the scheme has nodes.
  std::string servers;
  std::string memcached = "memcached";  // program to start them from
  int repetitions = 30;
  std::vector<Case> cases;
  std::vector<std::string> names;  // of contenders
  std::uint64_t seed = 0;
  std::size_t keys = 4;
  std::size_t update_bytes = 4096;  // cut to the value's size
  // Asked between operations; true ends the run with kUnavailable.
  std::function<bool()> stopped;
};

struct StoreRow {
  Case test_case = Case::kPut;
  std::string name;
  std::string scheme;
  std::size_t bytes = 0;
  Spread microseconds;
};

// Makes the contenders named, on the servers given or on its own, and runs
// them by RunTurns.
Result<std::vector<StoreRow>> RunStore(const StoreOptions& options);

// Forward and backward alone, of the contenders of MakeParityContenders, always
// on servers of its own. Cases and names are not read. kInvalidArgument:
// the scheme is not elastic, or has `to` parity blocks.
Result<std::vector<StoreRow>> RunParity(StoreOptions options, int to);

// One row per case and contender that measures it, cases first. Each
// repetition takes one key, goes through the cases in order and, in each, lets
// the contenders run in an order shuffled from the seed. Two repetitions
// before the counted ones warm up. After every operation, outside the timed
// part, the value is read back and compared: a difference is kCorruption.
Result<std::vector<StoreRow>> RunTurns(
    const StoreOptions& options,
    std::vector<std::unique_ptr<Contender>> contenders);

// Columns: case,impl,scheme,bytes,median_us,min_us,max_us.
std::string RenderStore(const std::vector<StoreRow>& rows, Format format);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_STORE_BENCH_H_
