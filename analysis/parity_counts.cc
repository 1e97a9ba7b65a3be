#include "analysis/parity_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/json_rows.h"
#include "layout/geometry.h"
#include "plan/planners.h"

namespace ers::analysis {
namespace {

std::string_view NameOf(Width width) {
  return width == Width::kNarrow ? "narrow" : "wide";
}

int Size(const std::vector<layout::BlockId>& blocks) {
  return static_cast<int>(blocks.size());
}

// A stripe of k blocks gives its new parity by k reads, and no fewer do.
Status Check(const ParityRow& row, const layout::Geometry& geometry) {
  const int stripes = geometry.stripe_count(row.width);
  const int more = std::max(0, row.to - row.parameters.m);
  const int fewer = std::max(0, row.parameters.m - row.to);
  const int reads = more > 0 ? geometry.data_blocks() : 0;
  if (row.reads == reads && row.writes == more * stripes &&
      row.drops == fewer * stripes) {
    return {};
  }
  return {StatusCode::kCorruption,
          fmt::format("{},{},{} to {} {} {}: the plan reads {}, writes {} and "
                      "drops {} blocks, the formulas say {}, {} and {}: one of "
                      "them is wrong, please report it",
                      row.parameters.k, row.parameters.m, row.parameters.kp,
                      row.to, SubjectName(row.subject), NameOf(row.width),
                      row.reads, row.writes, row.drops, reads, more * stripes,
                      fewer * stripes)};
}

Result<ParityRow> CountOne(const Parameters& parameters, int to,
                           Subject subject, SchemeKind kind, Width width) {
  const auto& [k, m, kp] = parameters;
  const layout::Geometry larger({kind, k, std::max(m, to), kp});
  const layout::Geometry after({kind, k, to, kp});
  ParityRow row{parameters, to, subject, width};
  // With nothing missing there is always a plan.
  const auto plan = *plan::PlanTransition(
      larger, {{width, m}, {width, to}}, plan::TransitionVariant::kOptimal, {});
  row.reads = Size(plan.reads);
  row.writes = Size(plan.writes);
  row.drops = Size(plan.drops);
  row.reencode_reads = after.data_blocks();
  row.reencode_writes = Size(plan::PlanPut(after, width, {}).writes);
  Status checked = Check(row, larger);
  if (!checked.ok()) return Fail(std::move(checked));
  return row;
}

nlohmann::ordered_json JsonOf(const ParityRow& row) {
  return {{"k", row.parameters.k},
          {"m", row.parameters.m},
          {"kp", row.parameters.kp},
          {"to", row.to},
          {"scheme", SubjectName(row.subject)},
          {"width", NameOf(row.width)},
          {"reads", row.reads},
          {"writes", row.writes},
          {"drops", row.drops},
          {"reencode_reads", row.reencode_reads},
          {"reencode_writes", row.reencode_writes}};
}

}  // namespace

Result<std::vector<ParityRow>> CountParity(const Parameters& parameters,
                                           int to) {
  const auto& [k, m, kp] = parameters;
  for (const int count : {m, to}) {
    Status valid = ValidateScheme({SchemeKind::kErs2, k, count, kp});
    if (!valid.ok()) return Fail(std::move(valid));
  }
  if (to == m) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("M is {} already: there is nothing to do", m));
  }
  std::vector<ParityRow> rows;
  for (const auto& [subject, kind] : kPlannedKinds) {
    for (const Width width : {Width::kNarrow, Width::kWide}) {
      Result<ParityRow> row = CountOne(parameters, to, subject, kind, width);
      if (!row) return Fail(row.error());
      rows.push_back(*row);
    }
  }
  return rows;
}

std::string RenderParity(const std::vector<ParityRow>& rows, Format format) {
  return RenderJsonRows(rows, JsonOf, format);
}

}  // namespace ers::analysis
