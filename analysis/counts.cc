#include "analysis/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "analysis/formulas.h"
#include "layout/geometry.h"

namespace ers::analysis {
namespace {

using plan::TransitionVariant;

struct Case {
  Subject subject;
  Direction direction;
  TransitionVariant variant;
};

// SRS has no rule of the paper's beside `srs-paper` and no order to select.
constexpr std::array<Case, 14> kCases = {{
    {Subject::kSrsPaper, Direction::kForward, TransitionVariant::kPaper},
    {Subject::kSrs, Direction::kForward, TransitionVariant::kOptimal},
    {Subject::kErs1, Direction::kForward, TransitionVariant::kOptimal},
    {Subject::kErs1, Direction::kForward, TransitionVariant::kPaper},
    {Subject::kErs2, Direction::kForward, TransitionVariant::kOptimal},
    {Subject::kErs2, Direction::kForward, TransitionVariant::kPaper},
    {Subject::kSrsPaper, Direction::kBackward, TransitionVariant::kPaper},
    {Subject::kSrs, Direction::kBackward, TransitionVariant::kOptimal},
    {Subject::kErs1, Direction::kBackward, TransitionVariant::kOptimal},
    {Subject::kErs1, Direction::kBackward, TransitionVariant::kPaper},
    {Subject::kErs1, Direction::kBackward, TransitionVariant::kNoOrder},
    {Subject::kErs2, Direction::kBackward, TransitionVariant::kOptimal},
    {Subject::kErs2, Direction::kBackward, TransitionVariant::kPaper},
    {Subject::kErs2, Direction::kBackward, TransitionVariant::kNoOrder},
}};

SchemeKind KindOf(Subject subject) {
  switch (subject) {
    case Subject::kErs1:
      return SchemeKind::kErs1;
    case Subject::kErs2:
      return SchemeKind::kErs2;
    default:
      return SchemeKind::kSrs;
  }
}

Status Disagreement(const Row& row, std::string_view what, int plan,
                    std::string_view source, int expected) {
  return {StatusCode::kCorruption,
          fmt::format("{},{},{} {} {} {}: the plan has {} {}, {} says {}: one "
                      "of them is wrong, please report it",
                      row.parameters.k, row.parameters.m, row.parameters.kp,
                      SubjectName(row.subject), DirectionName(row.direction),
                      VariantName(row.variant), plan, what, source, expected)};
}

Status CheckErsRow(const Row& row) {
  const int overlaps = ReadsFromOverlaps(row.parameters, row.subject,
                                         row.direction, row.variant);
  if (row.reads() != overlaps) {
    return Disagreement(row, "reads", row.reads(), "the count of overlaps",
                        overlaps);
  }
  if (row.subject != Subject::kErs2) return {};
  const auto closed = Ers2Reads(row.parameters, row.direction, row.variant);
  if (closed.has_value() && row.reads() != *closed) {
    return Disagreement(row, "reads", row.reads(), "the closed formula",
                        *closed);
  }
  return {};
}

Row MakeRow(const Parameters& p, const Case& c, const plan::ReadCount& reads,
            int writes) {
  return {.parameters = p,
          .subject = c.subject,
          .direction = c.direction,
          .variant = c.variant,
          .data_reads = reads.data,
          .parity_reads = reads.parity,
          .writes = writes,
          .lower_bound = LowerBound(p, c.direction)};
}

// nullopt: the planner made no plan, which with nothing missing is its fault.
std::optional<Row> CountPlan(const Parameters& p, const Case& c) {
  const layout::Geometry geometry(Scheme{KindOf(c.subject), p.k, p.m, p.kp});
  const auto plan = plan::PlanTransition(
      geometry,
      c.direction == Direction::kForward ? plan::kForward : plan::kBackward,
      c.variant, {});
  if (!plan.has_value()) return std::nullopt;
  return MakeRow(p, c, plan::CountReads(geometry, *plan),
                 static_cast<int>(plan->writes.size()));
}

Row CountRule(const Parameters& p, const Case& c) {
  return MakeRow(p, c, SrsPaperReads(p, c.direction),
                 ExpectedWrites(p, c.direction));
}

}  // namespace

std::string_view SubjectName(Subject subject) {
  switch (subject) {
    case Subject::kSrsPaper:
      return "srs-paper";
    case Subject::kSrs:
      return "srs";
    case Subject::kErs1:
      return "ers1";
    case Subject::kErs2:
      return "ers2";
  }
  return "";
}

std::string_view SubjectTitle(Subject subject) {
  switch (subject) {
    case Subject::kSrsPaper:
    case Subject::kSrs:
      return "SRS";
    case Subject::kErs1:
      return "ERS-1";
    case Subject::kErs2:
      return "ERS-2";
  }
  return "";
}

std::string_view DirectionName(Direction direction) {
  return direction == Direction::kForward ? "forward" : "backward";
}

std::string_view VariantName(TransitionVariant variant) {
  switch (variant) {
    case TransitionVariant::kOptimal:
      return "optimal";
    case TransitionVariant::kPaper:
      return "paper";
    case TransitionVariant::kNoOrder:
      return "no-order";
  }
  return "";
}

Status CheckRow(const Row& row) {
  const int writes = ExpectedWrites(row.parameters, row.direction);
  if (row.writes != writes) {
    return Disagreement(row, "writes", row.writes, "the formula", writes);
  }
  if (row.reads() < row.lower_bound) {
    return Disagreement(row, "reads", row.reads(), "the lower bound",
                        row.lower_bound);
  }
  if (row.subject == Subject::kErs1 || row.subject == Subject::kErs2) {
    return CheckErsRow(row);
  }
  const int l = GroupDataBlocks(Scheme{SchemeKind::kSrs, row.parameters.k,
                                       row.parameters.m, row.parameters.kp});
  if (row.reads() > l) {
    return Disagreement(row, "reads", row.reads(), "reading all data", l);
  }
  return {};
}

Result<std::vector<Row>> CountAll(const Parameters& p) {
  Status valid = ValidateScheme(Scheme{SchemeKind::kErs2, p.k, p.m, p.kp});
  if (!valid.ok()) return Fail(std::move(valid));
  std::vector<Row> rows;
  for (const Case& c : kCases) {
    const auto row =
        c.subject == Subject::kSrsPaper ? CountRule(p, c) : CountPlan(p, c);
    if (!row.has_value()) {
      return Fail(
          StatusCode::kCorruption,
          fmt::format("{},{},{} {} {} {}: no plan although no block is "
                      "missing, please report it",
                      p.k, p.m, p.kp, SubjectName(c.subject),
                      DirectionName(c.direction), VariantName(c.variant)));
    }
    Status agrees = CheckRow(*row);
    if (!agrees.ok()) return Fail(std::move(agrees));
    rows.push_back(*row);
  }
  return rows;
}

Result<std::vector<Row>> CountAll(std::span<const Parameters> sets) {
  std::vector<Row> all;
  for (const Parameters& set : sets) {
    auto rows = CountAll(set);
    if (!rows.has_value()) return rows;
    all.insert(all.end(), rows->begin(), rows->end());
  }
  return all;
}

std::vector<Parameters> SweepSets() {
  std::vector<Parameters> sets;
  for (int kp = 3; kp <= 14; ++kp) {
    for (int k = 2; k < kp; ++k) {
      for (int m = 1; m <= 4 && m < k; ++m) sets.push_back({k, m, kp});
    }
  }
  return sets;
}

std::vector<Parameters> FigureSets() {
  return {{2, 1, 3},   {3, 1, 4},   {4, 1, 5},   {4, 3, 5},   {5, 1, 6},
          {4, 2, 6},   {6, 2, 7},   {6, 3, 7},   {6, 2, 8},   {6, 3, 8},
          {8, 3, 9},   {8, 2, 10},  {8, 3, 10},  {9, 2, 10},  {10, 4, 11},
          {6, 2, 12},  {10, 3, 12}, {10, 4, 12}, {12, 4, 13}, {6, 1, 14},
          {12, 3, 14}, {12, 4, 14}, {13, 1, 14}};
}

const Row* FindRow(std::span<const Row> rows, const Parameters& parameters,
                   Subject subject, Direction direction,
                   TransitionVariant variant) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
        return row.parameters == parameters && row.subject == subject &&
               row.direction == direction && row.variant == variant;
      });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace ers::analysis
