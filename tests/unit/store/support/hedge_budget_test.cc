// HedgeBudget: what hedges may read.
#include "store/support/hedge_budget.h"

#include <catch2/catch.hpp>

namespace ers::store {
namespace {

TEST_CASE("a budget of nothing allows nothing") {
  HedgeBudget budget(0);
  budget.OnRead(HedgeBudget::kMost, false);
  CHECK_FALSE(budget.Spend(1));
}

TEST_CASE("it is full at the start, and no fuller later") {
  HedgeBudget budget(3);
  budget.OnRead(1000 * HedgeBudget::kMost, false);
  CHECK_FALSE(budget.Spend(HedgeBudget::kMost + 1));
  CHECK(budget.Spend(HedgeBudget::kMost));
  CHECK_FALSE(budget.Spend(1));
}

TEST_CASE("a part of what is read is added, however small the pieces") {
  HedgeBudget budget(3);
  REQUIRE(budget.Spend(HedgeBudget::kMost));
  for (int i = 0; i < 1000; ++i) budget.OnRead(10, false);
  CHECK_FALSE(budget.Spend(301));
  CHECK(budget.Spend(300));
}

TEST_CASE("it allows more where one server alone is slow") {
  HedgeBudget budget(3);
  REQUIRE(budget.Spend(HedgeBudget::kMost));
  budget.OnRead(1000, true);
  CHECK(budget.Spend(30 * HedgeBudget::kMoreWhereAlone));
  CHECK_FALSE(budget.Spend(1));
}

}  // namespace
}  // namespace ers::store
