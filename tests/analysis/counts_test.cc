#include "analysis/counts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "analysis/chain_counts.h"
#include "analysis/column_counts.h"
#include "analysis/form_counts.h"
#include "analysis/formulas.h"
#include "ers/transition_counts.h"

namespace ers::analysis {
namespace {

using plan::TransitionVariant;

Row Ers2Forward() {
  const auto rows = CountAll(Parameters{4, 3, 5});
  REQUIRE(rows.has_value());
  const Row* row = FindRow(*rows, {4, 3, 5}, Subject::kErs2,
                           Direction::kForward, TransitionVariant::kPaper);
  REQUIRE(row != nullptr);
  return *row;
}

TEST_CASE("A plan that agrees with the formulas passes") {
  CHECK(CheckRow(Ers2Forward()).ok());
}

TEST_CASE("A plan that reads one block more is an error that names both") {
  Row row = Ers2Forward();
  ++row.data_reads;
  const Status status = CheckRow(row);
  CHECK(status.code() == StatusCode::kCorruption);
  CHECK_THAT(status.message(), Catch::Contains("4,3,5 ers2 forward paper"));
  CHECK_THAT(status.message(), Catch::Contains("19 reads"));
  CHECK_THAT(status.message(), Catch::Contains("says 18"));
}

TEST_CASE("A plan that writes another number of blocks is an error") {
  Row row = Ers2Forward();
  --row.writes;
  CHECK(CheckRow(row).code() == StatusCode::kCorruption);
}

TEST_CASE("A plan below the lower bound is an error, also for SRS") {
  Row row = Ers2Forward();
  row.subject = Subject::kSrs;
  row.data_reads = row.lower_bound - row.parity_reads - 1;
  CHECK(CheckRow(row).code() == StatusCode::kCorruption);
}

TEST_CASE("An SRS plan that reads more than all data is an error") {
  Row row = Ers2Forward();
  row.subject = Subject::kSrs;
  row.data_reads = 21;
  row.parity_reads = 0;
  CHECK(CheckRow(row).code() == StatusCode::kCorruption);
}

TEST_CASE("What the library says of a change of width is what is counted") {
  const Parameters parameters{4, 1, 5};
  const Scheme scheme{SchemeKind::kErs2, 4, 1, 5};
  const auto rows = CountColumns(parameters);
  REQUIRE(rows.has_value());
  int compared = 0;
  for (const ColumnRow& row : *rows) {
    if (row.subject != Subject::kErs2) continue;
    const bool forward = row.direction == Direction::kForward;
    const Width from = forward ? Width::kNarrow : Width::kWide;
    const Width to = forward ? Width::kWide : Width::kNarrow;
    const auto columns = CountTransition(scheme, from, to, Unit::kColumns);
    REQUIRE(columns.has_value());
    CHECK(columns->reads == row.cells_read);
    CHECK(columns->writes == row.cells_written);
    const auto blocks = CountTransition(scheme, from, to, Unit::kBlocks);
    REQUIRE(blocks.has_value());
    CHECK(blocks->reads == row.blocks_read);
    CHECK(blocks->reads == LowerBound(parameters, row.direction));
    ++compared;
  }
  CHECK(compared == 2);
}

TEST_CASE("No change of width is one of what has no two such widths") {
  const Scheme scheme{SchemeKind::kErs2, 4, 1, 5};
  const auto code = [](const Scheme& of, Width from, Width to) {
    const auto counts = CountTransition(of, from, to, Unit::kBlocks);
    return counts ? StatusCode::kOk : counts.error().code();
  };
  CHECK(code(scheme, Width::kNarrow, Width::kWide) == StatusCode::kOk);
  CHECK(code(scheme, Width::kNarrow, Width::kNarrow) ==
        StatusCode::kInvalidArgument);
  CHECK(code(scheme, Width::kNarrow, Width::kSecond) ==
        StatusCode::kInvalidArgument);
  CHECK(code({SchemeKind::kRs, 4, 1, 4}, Width::kNarrow, Width::kWide) ==
        StatusCode::kInvalidArgument);
  CHECK(code({SchemeKind::kErs2, 4, 1, 3}, Width::kNarrow, Width::kWide) ==
        StatusCode::kInvalidArgument);
}

TEST_CASE("A plan of a chain that reads or writes something else is an error") {
  const auto rows = CountChain("4-6-12", 1);
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 6);
  ChainRow row = rows->front();
  CHECK(CheckChainRow(row).ok());
  ++row.reads;
  const Status status = CheckChainRow(row);
  CHECK(status.code() == StatusCode::kCorruption);
  CHECK_THAT(status.message(), Catch::Contains("ers:4-6-12,1 from 4 to 6"));
  CHECK_THAT(status.message(), Catch::Contains("reads 6"));
  CHECK_THAT(status.message(), Catch::Contains("say 5"));
  row = rows->front();
  --row.writes;
  CHECK(CheckChainRow(row).code() == StatusCode::kCorruption);
  row = rows->front();
  row.lower_bound = row.reads + 1;
  CHECK(CheckChainRow(row).code() == StatusCode::kCorruption);
}

TEST_CASE("A plan of width and m that moves something else is an error") {
  const auto more = CountForms("ers2:4,1,5", 2);
  const auto less = CountForms("ers2:4,2,5", 1);
  REQUIRE(more.has_value());
  REQUIRE(less.has_value());
  REQUIRE(more->size() == 2);
  for (const FormRow& right : {more->front(), less->back()}) {
    CHECK(CheckFormRow(right).ok());
    FormRow row = right;
    --row.once.writes;
    CHECK(CheckFormRow(row).code() == StatusCode::kCorruption);
    row = right;
    row.once.reads = row.lower_bound - 1;
    CHECK(CheckFormRow(row).code() == StatusCode::kCorruption);
    row = right;
    row.two_steps.reads = row.once.reads - 1;
    CHECK(CheckFormRow(row).code() == StatusCode::kCorruption);
  }
  FormRow row = more->front();
  ++row.once.reads;
  const Status status = CheckFormRow(row);
  CHECK(status.code() == StatusCode::kCorruption);
  CHECK_THAT(status.message(), Catch::Contains("ers2:4,1,5 from narrow"));
  CHECK_THAT(status.message(), Catch::Contains("reads 21"));
}

TEST_CASE("Parameters that are no scheme are refused") {
  for (const Parameters p :
       {Parameters{4, 1, 4}, Parameters{5, 1, 4}, Parameters{4, 0, 5},
        Parameters{1, 1, 5}, Parameters{4, 1, 255}}) {
    CAPTURE(p.k, p.m, p.kp);
    const auto rows = CountAll(p);
    REQUIRE_FALSE(rows.has_value());
    CHECK(rows.error().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("The figure sets are 23 different ones with all that are named") {
  const auto sets = FigureSets();
  const std::set<Parameters> distinct(sets.begin(), sets.end());
  CHECK(sets.size() == 23);
  CHECK(distinct.size() == 23);
  for (const Parameters named :
       {Parameters{2, 1, 3}, Parameters{4, 1, 5}, Parameters{5, 1, 6},
        Parameters{6, 2, 7}, Parameters{8, 2, 10}, Parameters{9, 2, 10},
        Parameters{10, 3, 12}, Parameters{12, 3, 14}, Parameters{12, 4, 14},
        Parameters{6, 1, 14}, Parameters{13, 1, 14}}) {
    CAPTURE(named.k, named.m, named.kp);
    CHECK(distinct.count(named) == 1);
  }
  // (k, m) of ColossusFS, Yahoo, Facebook and Azure.
  for (const auto& [k, m] : {std::pair{6, 3}, {8, 3}, {10, 4}, {12, 4}}) {
    CAPTURE(k, m);
    CHECK(std::any_of(sets.begin(), sets.end(), [&](const Parameters& set) {
      return set.k == k && set.m == m;
    }));
  }
}

TEST_CASE("With m >= k the bound and the optimal plans are all data") {
  for (const Parameters p : {Parameters{2, 2, 3}, Parameters{2, 4, 5},
                             Parameters{3, 3, 4}, Parameters{3, 5, 6}}) {
    CAPTURE(p.k, p.m, p.kp);
    const auto rows = CountAll(p);
    REQUIRE(rows.has_value());
    for (const Row& row : *rows) {
      if (row.variant != TransitionVariant::kOptimal) continue;
      CHECK(row.reads() ==
            GroupDataBlocks(Scheme{SchemeKind::kErs2, p.k, p.m, p.kp}));
      CHECK(row.reads() == row.lower_bound);
    }
  }
}

}  // namespace
}  // namespace ers::analysis
