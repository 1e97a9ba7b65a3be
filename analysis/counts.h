// Block counts of transitions, taken from the plans that production runs.
#ifndef ERS_ANALYSIS_COUNTS_H_
#define ERS_ANALYSIS_COUNTS_H_

#include <compare>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ers/scheme.h"
#include "plan/planners.h"

namespace ers::analysis {

// What a row is about. kSrsPaper is a rule without a plan; see SrsPaperReads.
enum class Subject { kSrsPaper, kSrs, kErs1, kErs2 };
enum class Direction { kForward, kBackward };

// Those that have plans.
inline constexpr std::pair<Subject, SchemeKind> kPlannedKinds[] = {
    {Subject::kSrs, SchemeKind::kSrs},
    {Subject::kErs1, SchemeKind::kErs1},
    {Subject::kErs2, SchemeKind::kErs2},
};

std::string_view SubjectName(Subject subject);        // "srs-paper", "ers2"
std::string_view SubjectTitle(Subject subject);       // "ERS-2", for people
std::string_view DirectionName(Direction direction);  // "forward", "backward"
std::string_view VariantName(plan::TransitionVariant variant);

struct Parameters {
  int k = 0;
  int m = 0;
  int kp = 0;  // k'
  auto operator<=>(const Parameters&) const = default;
};

// Blocks that one transition of one group moves.
struct Row {
  Parameters parameters;
  Subject subject = Subject::kErs2;
  Direction direction = Direction::kForward;
  plan::TransitionVariant variant = plan::TransitionVariant::kOptimal;
  int data_reads = 0;
  int parity_reads = 0;
  int writes = 0;
  int lower_bound = 0;  // on data_reads + parity_reads
  [[nodiscard]] int reads() const { return data_reads + parity_reads; }
};

// Every combination of subject, direction and variant that exists
// (docs/evaluation/analysis.md), in print order. kInvalidArgument: not a
// scheme. kCorruption: a plan and a formula disagree; the message has both
// numbers.
Result<std::vector<Row>> CountAll(const Parameters& parameters);

// Compares a row with every formula known for it: OK, or kCorruption.
Status CheckRow(const Row& row);

// The same for every set; stops at the first failure.
Result<std::vector<Row>> CountAll(std::span<const Parameters> sets);

// The paper's 244 sets (section 6.1): 3 <= k' <= 14, 2 <= k < k',
// 1 <= m <= 4, m < k; ordered by k', k, m.
std::vector<Parameters> SweepSets();

// The 23 sets of our figures 9 and 10 (the paper's own choice is not
// recoverable): every set that section 6 names, and others.
std::vector<Parameters> FigureSets();

// The row of `rows` with these attributes, or nullptr.
const Row* FindRow(std::span<const Row> rows, const Parameters& parameters,
                   Subject subject, Direction direction,
                   plan::TransitionVariant variant);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_COUNTS_H_
