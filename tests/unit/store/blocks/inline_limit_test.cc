#include "ers/inline_limit.h"

#include <catch2/catch.hpp>

namespace ers::store {
namespace {

constexpr Scheme kDefault{SchemeKind::kErs2, 4, 1, 5};

std::size_t OfTenByteKeys(const Scheme& scheme, Unit unit, int max_failures) {
  return WorthCoding(scheme, Width::kNarrow, unit, max_failures, 10);
}

// 6 items of 120 bytes and 2 manifests of 135, and 1.25 bytes for one; or 2 of
// 114, and 2 for one: 8 (990 + 1.25 n) <= 7 (228 + 2 n) from n = 1581 on.
TEST_CASE("a value is worth coding where that saves an eighth") {
  CHECK(OfTenByteKeys(kDefault, Unit::kColumns, 1) == 1581);
  // In 25 items.
  CHECK(OfTenByteKeys(kDefault, Unit::kBlocks, 1) == 6141);
  // Whole, it would be on more servers.
  CHECK(OfTenByteKeys(kDefault, Unit::kColumns, 3) < 1581);
  CHECK(OfTenByteKeys({SchemeKind::kErs2, 12, 3, 14}, Unit::kColumns, 3) ==
        989);
  CHECK(WorthCoding(kDefault, Width::kWide, Unit::kColumns, 1, 10) < 1581);
}

TEST_CASE("what coding saves no memory for is whole as long as it may be") {
  CHECK(OfTenByteKeys({SchemeKind::kRep, 1, 1, 1}, Unit::kBlocks, 1) ==
        kMaxInlineAuto);
  CHECK(OfTenByteKeys({SchemeKind::kRs, 2, 2, 2}, Unit::kBlocks, 1) ==
        kMaxInlineAuto);
}

}  // namespace
}  // namespace ers::store
