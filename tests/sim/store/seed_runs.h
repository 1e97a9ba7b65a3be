// Runs of many seeds, a chunk of them in a process of its own, several chunks
// at once: what runs have parked goes with its process.
#ifndef ERS_TESTS_SIM_STORE_SEED_RUNS_H_
#define ERS_TESTS_SIM_STORE_SEED_RUNS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/store/outcome_table.h"

namespace ers::sim {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

// In chunks of at most `most`, in order.
std::vector<Seeds> InChunks(const Seeds& seeds, std::uint64_t most);

// What came of some seeds. It goes through a pipe, byte by byte.
struct SeedCounts {
  OutcomeTable table;
  std::uint64_t seeds = 0;
  std::uint64_t failed = 0;  // seeds with violations
  std::uint64_t operations = 0;
  std::uint64_t hash = 0;  // over what happened in each run, in order
};

// Calls `run` for each of `chunks`, in a child process, up to `jobs` at once,
// and prints what each one adds to `text`, in the order of the chunks. The sum;
// a child that crashed counts as a failed seed and is reported. One thread.
SeedCounts RunChunks(
    const std::vector<Seeds>& chunks, int jobs,
    const std::function<SeedCounts(const Seeds&, std::string* text)>& run);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_SEED_RUNS_H_
