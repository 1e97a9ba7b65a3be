// The library as a contender whose bytes are counted at its sockets.
#ifndef ERS_EVAL_BENCH_TAPPED_CONTENDER_H_
#define ERS_EVAL_BENCH_TAPPED_CONTENDER_H_

#include <memory>
#include <string>

#include "bench/contender.h"
#include "bench/wire_tap.h"
#include "ers/options.h"

namespace ers::bench {

// What it does on a transition: from one scheme or width to the other.
struct Way {
  Scheme narrow;
  // Another scheme than `narrow`: all is read, and written anew. The same: its
  // own plan, by these variants.
  Scheme wide;
  TransitionVariant forward = TransitionVariant::kOptimal;
  TransitionVariant backward = TransitionVariant::kOptimal;
  // Between which it moves where both schemes are the same.
  Width from = Width::kNarrow;
  Width to = Width::kWide;
};

// All it has moved so far is in `traffic`, which outlives it. Its transitions
// are an error where they take another path than `way` says.
// It has a connection to every server that answers.
Result<std::unique_ptr<Contender>> MakeTappedContender(
    std::string name, const ClusterOptions& cluster_options, const Way& way,
    std::size_t inline_below, Traffic& traffic);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_TAPPED_CONTENDER_H_
