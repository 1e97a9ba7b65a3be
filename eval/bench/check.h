// `ers-bench check`: the speeds that the project promises, measured.
#ifndef ERS_EVAL_BENCH_CHECK_H_
#define ERS_EVAL_BENCH_CHECK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/samples.h"
#include "ers/status.h"

namespace ers::bench {

struct CheckOptions {
  int repetitions = 40;  // at least 30 for a verdict
  std::uint64_t seed = 0;
  std::string memcached = "memcached";
  std::function<bool()> stopped;  // as StoreOptions::stopped
};

// A ratio of two medians and what it has to be.
struct Verdict {
  enum class Bound { kAtMost, kAtLeast, kReported };
  std::string what;  // "PUT 1 MiB, ers2:4,1,5: libers / copies"
  double ratio = 0;
  Bound bound = Bound::kReported;
  double limit = 0;
  [[nodiscard]] bool passed() const;
};

// Runs every comparison on servers of its own, one cluster at a time.
Result<std::vector<Verdict>> RunCheck(const CheckOptions& options);

// Columns: what,ratio,bound,limit,verdict.
std::string RenderCheck(const std::vector<Verdict>& verdicts, Format format);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_CHECK_H_
