#include "analysis/table1.h"

#include <fmt/format.h>

#include <cassert>

namespace ers::analysis {
namespace {

using plan::TransitionVariant;

// Which plans stand for a comparison's two sides.
enum class Reading { kPaper, kOptimal };

struct Comparison {
  Subject better;
  Subject base;  // kSrs stands for either SRS baseline
  Direction direction;
};

struct PaperRow {
  Comparison comparison;
  const char* improved;
  const char* average;
  const char* best;
  const char* best_set;
};

constexpr PaperRow kPaperRows[] = {
    {{Subject::kErs1, Subject::kSrs, Direction::kForward},
     "221",
     "46.2",
     "73.8",
     "6,1,14"},
    {{Subject::kErs2, Subject::kErs1, Direction::kForward},
     "123",
     "14.8",
     "53.6",
     "13,1,14"},
    {{Subject::kErs1, Subject::kSrs, Direction::kBackward},
     "222",
     "36.2",
     "65.9",
     "13,1,14"},
    {{Subject::kErs2, Subject::kErs1, Direction::kBackward},
     "121",
     "20.2",
     "58.1",
     "13,1,14"},
};

struct PaperPoint {
  Comparison comparison;
  Parameters parameters;
  const char* reduction;
};

constexpr Comparison kForward1{Subject::kErs1, Subject::kSrs,
                               Direction::kForward};
constexpr Comparison kForward2{Subject::kErs2, Subject::kSrs,
                               Direction::kForward};

// Sections 6.1 and, for (9,2,10), 6.2.
constexpr PaperPoint kPaperPoints[] = {
    {kForward1, {6, 2, 7}, "45.2"},
    {{Subject::kErs2, Subject::kErs1, Direction::kForward}, {6, 2, 7}, "17.4"},
    {kForward2, {9, 2, 10}, "68.9"},
    {kForward1, {12, 3, 14}, "53.6"},
    {kForward2, {12, 3, 14}, "63.1"},
    {kForward1, {12, 4, 14}, "45.2"},
    {kForward2, {12, 4, 14}, "54.8"},
    {{Subject::kErs1, Subject::kSrs, Direction::kBackward}, {4, 1, 5}, "50.0"},
    {{Subject::kErs2, Subject::kErs1, Direction::kBackward}, {4, 1, 5}, "20.0"},
};

int Reads(std::span<const Row> sweep, const Parameters& parameters,
          Subject subject, Direction direction, Reading reading) {
  if (subject == Subject::kSrs && reading == Reading::kPaper) {
    subject = Subject::kSrsPaper;
  }
  const Row* row =
      FindRow(sweep, parameters, subject, direction,
              reading == Reading::kPaper ? TransitionVariant::kPaper
                                         : TransitionVariant::kOptimal);
  assert(row != nullptr);
  return row->reads();
}

// By how much of the base's reads the better one reads less.
double Reduction(std::span<const Row> sweep, const Parameters& parameters,
                 const Comparison& c, Reading reading) {
  const int better = Reads(sweep, parameters, c.better, c.direction, reading);
  const int base = Reads(sweep, parameters, c.base, c.direction, reading);
  return 1.0 - static_cast<double>(better) / base;
}

struct Summary {
  int improved = 0;
  double average = 0;  // over the improved sets
  double best = 0;
  Parameters best_set;
};

Summary Summarise(std::span<const Row> sweep, const Comparison& c,
                  Reading reading) {
  Summary summary;
  double sum = 0;
  for (const Parameters& set : SweepSets()) {
    const double reduction = Reduction(sweep, set, c, reading);
    if (reduction <= 0) continue;
    ++summary.improved;
    sum += reduction;
    if (reduction > summary.best) {
      summary.best = reduction;
      summary.best_set = set;
    }
  }
  if (summary.improved > 0) summary.average = sum / summary.improved;
  return summary;
}

std::string Percent(double share) { return fmt::format("{:.1f}", share * 100); }

std::string SetText(const Parameters& p) {
  return fmt::format("{},{},{}", p.k, p.m, p.kp);
}

std::string ComparisonText(const Comparison& c) {
  return fmt::format("{} over {}", SubjectTitle(c.better),
                     SubjectTitle(c.base));
}

}  // namespace

std::vector<Cell> Table1(std::span<const Row> sweep) {
  std::vector<Cell> cells;
  for (const PaperRow& row : kPaperRows) {
    const Summary computed = Summarise(sweep, row.comparison, Reading::kPaper);
    const Summary optimal = Summarise(sweep, row.comparison, Reading::kOptimal);
    const auto add = [&](const char* quantity, const char* paper,
                         std::string ours, std::string best) {
      cells.push_back({ComparisonText(row.comparison), row.comparison.direction,
                       quantity, paper, std::move(ours), std::move(best)});
    };
    add("improved sets", row.improved, std::to_string(computed.improved),
        std::to_string(optimal.improved));
    add("average %", row.average, Percent(computed.average),
        Percent(optimal.average));
    add("best %", row.best, Percent(computed.best), Percent(optimal.best));
    add("best set", row.best_set, SetText(computed.best_set),
        SetText(optimal.best_set));
  }
  for (const PaperPoint& point : kPaperPoints) {
    const auto reduction = [&](Reading reading) {
      return Percent(
          Reduction(sweep, point.parameters, point.comparison, reading));
    };
    cells.push_back(
        {ComparisonText(point.comparison), point.comparison.direction,
         fmt::format("at {} %", SetText(point.parameters)), point.reduction,
         reduction(Reading::kPaper), reduction(Reading::kOptimal)});
  }
  return cells;
}

}  // namespace ers::analysis
