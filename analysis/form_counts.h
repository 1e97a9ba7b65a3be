// What changes of width and m at once move, taken from the plans that
// production runs, beside those of two steps and of writing the object anew.
#ifndef ERS_ANALYSIS_FORM_COUNTS_H_
#define ERS_ANALYSIS_FORM_COUNTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "analysis/output.h"
#include "ers/scheme.h"
#include "plan/planners.h"

namespace ers::analysis {

// Blocks of one group.
struct Moved {
  int reads = 0;
  int writes = 0;
  [[nodiscard]] int total() const { return reads + writes; }
};

// One transition of one group.
struct FormRow {
  Scheme scheme;  // as it is before
  plan::FormChange change;
  Moved once;
  int lower_bound = 0;  // on its reads
  // The width first or m first, whichever moves less.
  Moved two_steps;
  Moved reencode;
};

// Every pair of widths of `scheme`, from its m to `to`. kInvalidArgument: no
// scheme, one that is not elastic, or the same m. kCorruption: a plan and a
// formula disagree.
Result<std::vector<FormRow>> CountForms(std::string_view scheme, int to);

// Compares a row with the formulas: OK, or kCorruption.
Status CheckFormRow(const FormRow& row);

// Columns: scheme,from,to,m,to_m,reads,writes,lower_bound,two_step_reads,
// two_step_writes,reencode_reads,reencode_writes,saved_two_steps,
// saved_reencode: of what those move, in percent. JSON: an array of objects
// with these keys.
std::string RenderForms(const std::vector<FormRow>& rows, Format format);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_FORM_COUNTS_H_
