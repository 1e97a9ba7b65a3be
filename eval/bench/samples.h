// Medians of interleaved measurements, and their output.
#ifndef ERS_EVAL_BENCH_SAMPLES_H_
#define ERS_EVAL_BENCH_SAMPLES_H_

#include <span>
#include <string>
#include <vector>

#include "analysis/output.h"

namespace ers::bench {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

// Of at least one sample (asserted). The median of an even number is the mean
// of the middle two.
Spread Summarise(std::vector<double> samples);

using analysis::Format;

// A table of text: the first line names the columns, all lines are as long.
// CSV quotes cells with commas; JSON is an array of objects in which cells
// that are numbers are numbers. Ends with a newline.
std::string Render(std::span<const analysis::TextRow> lines, Format format);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_SAMPLES_H_
