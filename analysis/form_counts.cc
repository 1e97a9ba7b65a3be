#include "analysis/form_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/formulas.h"
#include "analysis/json_rows.h"
#include "layout/geometry.h"

namespace ers::analysis {
namespace {

using plan::Form;
using plan::FormChange;

// With nothing missing there is always a plan.
Moved MovedBy(const layout::Geometry& geometry, const FormChange& change) {
  const plan::Plan plan = *plan::PlanTransition(
      geometry, change, plan::TransitionVariant::kOptimal, {});
  return {static_cast<int>(plan.reads.size()),
          static_cast<int>(plan.writes.size())};
}

Moved ThroughForm(const layout::Geometry& geometry, const FormChange& change,
                  const Form& between) {
  const Moved first = MovedBy(geometry, {change.from, between});
  const Moved second = MovedBy(geometry, {between, change.to});
  return {first.reads + second.reads, first.writes + second.writes};
}

Moved TwoSteps(const layout::Geometry& geometry, const FormChange& change) {
  const Moved by_width =
      ThroughForm(geometry, change, {change.to.width, change.from.m});
  const Moved by_parity =
      ThroughForm(geometry, change, {change.from.width, change.to.m});
  return by_width.total() < by_parity.total() ? by_width : by_parity;
}

FormRow CountOne(const Scheme& scheme, const layout::Geometry& larger,
                 const FormChange& change) {
  FormRow row{scheme, change, {}, 0, {}, {}};
  row.once = MovedBy(larger, change);
  row.lower_bound = LowerBound(scheme, change);
  row.two_steps = TwoSteps(larger, change);
  Scheme after = scheme;
  after.m = change.to.m;
  const layout::Geometry anew(after);
  const plan::Plan put = plan::PlanPut(anew, change.to.width, {});
  row.reencode = {anew.data_blocks(), static_cast<int>(put.writes.size())};
  return row;
}

// In percent, to one decimal.
double Saved(const Moved& once, const Moved& other) {
  const double saved = other.total() - once.total();
  return std::round(1000 * saved / other.total()) / 10;
}

nlohmann::ordered_json JsonOf(const FormRow& row) {
  const auto& [from, to] = row.change;
  return {{"scheme", FormatScheme(row.scheme)},
          {"from", StripeDataBlocks(row.scheme, from.width)},
          {"to", StripeDataBlocks(row.scheme, to.width)},
          {"m", from.m},
          {"to_m", to.m},
          {"reads", row.once.reads},
          {"writes", row.once.writes},
          {"lower_bound", row.lower_bound},
          {"two_step_reads", row.two_steps.reads},
          {"two_step_writes", row.two_steps.writes},
          {"reencode_reads", row.reencode.reads},
          {"reencode_writes", row.reencode.writes},
          {"saved_two_steps", Saved(row.once, row.two_steps)},
          {"saved_reencode", Saved(row.once, row.reencode)}};
}

}  // namespace

Status CheckFormRow(const FormRow& row) {
  const auto& [from, to] = row.change;
  const int group = GroupDataBlocks(row.scheme);
  const int writes = to.m * group / StripeDataBlocks(row.scheme, to.width);
  const bool grows = to.m > from.m;
  const bool right =
      row.once.writes == writes && row.once.reads >= row.lower_bound &&
      row.once.reads <= group && (!grows || row.once.reads == group) &&
      row.once.reads <= row.two_steps.reads &&
      row.once.writes <= row.two_steps.writes;
  if (right) return {};
  return {StatusCode::kCorruption,
          fmt::format(
              "{} from {} to {}, m = {}: the plan reads {} and writes {} "
              "blocks, two steps {} and {}; the formulas say {} to {} reads "
              "and {} writes: one of them is wrong, please report it",
              FormatScheme(row.scheme), WidthName(row.scheme, from.width),
              WidthName(row.scheme, to.width), to.m, row.once.reads,
              row.once.writes, row.two_steps.reads, row.two_steps.writes,
              row.lower_bound, group, writes)};
}

Result<std::vector<FormRow>> CountForms(std::string_view scheme, int to) {
  const Result<Scheme> before = ParseScheme(scheme);
  if (!before) return Fail(before.error());
  if (!before->elastic() || to == before->m) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("scheme {} {}", scheme,
                            before->elastic()
                                ? "has that m already: name another TO"
                                : "has one width only: name an elastic one"));
  }
  Scheme larger = *before;
  larger.m = to;
  Status valid = ValidateScheme(larger);
  if (!valid.ok()) return Fail(std::move(valid));
  larger.m = std::max(before->m, to);
  const layout::Geometry geometry(larger);
  std::vector<FormRow> rows;
  for (const Width from : WidthsOf(*before)) {
    for (const Width into : WidthsOf(*before)) {
      if (from == into) continue;
      const FormChange change{{from, before->m}, {into, to}};
      rows.push_back(CountOne(*before, geometry, change));
      Status checked = CheckFormRow(rows.back());
      if (!checked.ok()) return Fail(std::move(checked));
    }
  }
  return rows;
}

std::string RenderForms(const std::vector<FormRow>& rows, Format format) {
  return RenderJsonRows(rows, JsonOf, format);
}

}  // namespace ers::analysis
