// Values of chains: at any of their widths, and from any to any other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "layout/geometry.h"
#include "plan/planners.h"
#include "sim/objects/one_value.h"

namespace ers::sim {
namespace {

struct Fixture : OneValue {
  Fixture(const std::string& text, Unit unit)
      : OneValue(text, unit), geometry(scheme, unit) {}

  const layout::Geometry geometry;
};

TransitionTarget ByNumber(int data_blocks) {
  TransitionTarget target;
  target.data_blocks = data_blocks;
  return target;
}

TEST_CASE("a value goes from every width of a chain to every other") {
  const std::string text = GENERATE("ers:2-4-8,1", "ers:2-3-4-6,2");
  const Unit unit = GENERATE(Unit::kBlocks, Unit::kColumns);
  CAPTURE(text, static_cast<int>(unit));
  Fixture f(text, unit);
  for (const Width from : WidthsOf(f.scheme)) {
    for (const Width to : WidthsOf(f.scheme)) {
      if (from == to) continue;
      CAPTURE(static_cast<int>(from), static_cast<int>(to));
      f.Put(3001, from);
      CHECK(f.IsWhole());
      const auto info = f.Turn(ByNumber(StripeDataBlocks(f.scheme, to)));
      REQUIRE(info.has_value());
      CHECK(info->path == TransitionPath::kPlan);
      CHECK(info->object.width == to);
      const plan::Plan plan =
          *plan::PlanTransition(f.geometry, {from, to}, {}, {});
      const plan::ReadCount reads = plan::CountReads(f.geometry, plan);
      CHECK(static_cast<int>(info->data_reads) == reads.data);
      CHECK(static_cast<int>(info->parity_reads) == reads.parity);
      CHECK(info->writes == plan.writes.size());
      const ObjectDetail where = f.Where();
      CHECK(where.width == to);
      CHECK(where.unit == unit);
      CHECK(static_cast<int>(where.blocks.size()) ==
            f.geometry.stored_blocks(to));
      CHECK(std::ranges::all_of(where.blocks, &BlockState::present));
      CHECK(f.IsWhole());
      f.Rest();
    }
  }
}

TEST_CASE("a value of a chain survives the loss of m servers at any width") {
  const Unit unit = GENERATE(Unit::kBlocks, Unit::kColumns);
  const int first = GENERATE(0, 3, 6);
  CAPTURE(static_cast<int>(unit), first);
  Fixture f("ers:2-3-4-6,2", unit);
  for (const Width width : WidthsOf(f.scheme)) {
    CAPTURE(static_cast<int>(width));
    f.Put(3001, width);
    for (const int lost : {first, first + 1}) {
      f.world.servers()[static_cast<std::size_t>(lost)]->Crash();
    }
    CHECK(f.IsWhole());
    for (const Width to : WidthsOf(f.scheme)) {
      if (to == f.Where().width) continue;
      REQUIRE(f.Turn({to, {}}).has_value());
      CHECK(f.IsWhole());
    }
    for (const int lost : {first, first + 1}) {
      f.world.servers()[static_cast<std::size_t>(lost)]->Restart();
    }
    f.Rest();
  }
}

TEST_CASE("only to a width that the chain has, and that the value has not") {
  Fixture f("ers:2-3-6,1", Unit::kBlocks);
  f.Put(3001, Width::kSecond);
  const auto refusal = [&f](const TransitionTarget& target) {
    const auto info = f.Turn(target);
    REQUIRE_FALSE(info.has_value());
    return info.error();
  };
  CHECK(refusal(ByNumber(3)).code() == StatusCode::kAlreadyThere);
  CHECK(refusal(ByNumber(3)).message() == "key 'key' is ers:2-3-6,1 3 already");
  CHECK(refusal(ByNumber(4)).code() == StatusCode::kInvalidArgument);
  CHECK(refusal(ByNumber(4)).message() ==
        "scheme ers:2-3-6,1 has no such width: go to narrow, wide, or one of "
        "2, 3, 6");
  CHECK(refusal({Width::kThird, {}}).code() == StatusCode::kInvalidArgument);
  PutOptions options;
  options.width = Width::kThird;
  const auto put =
      net::SyncWait(f.process, f.store.Put("other", f.value, options));
  REQUIRE_FALSE(put.has_value());
  CHECK(put.error().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("order selection is of the way to narrower widths") {
  Fixture f("ers:2-3-6,1", Unit::kBlocks);
  f.Put(3001, Width::kSecond);
  const auto wider = f.Turn(ByNumber(6), TransitionVariant::kNoOrder);
  REQUIRE_FALSE(wider.has_value());
  CHECK(wider.error().code() == StatusCode::kInvalidArgument);
  REQUIRE(f.Turn(ByNumber(2), TransitionVariant::kNoOrder).has_value());
  CHECK(f.IsWhole());
  REQUIRE_FALSE(f.Turn(ByNumber(3), TransitionVariant::kNoOrder).has_value());
}

TEST_CASE("m of a chain changes at any width") {
  Fixture f("ers:2-3-6,2", Unit::kBlocks);
  f.Put(3001, Width::kSecond);
  for (const int m : {1, 2}) {
    Scheme scheme = f.scheme;
    scheme.m = m;
    const auto info = f.Turn({{}, scheme});
    REQUIRE(info.has_value());
    CHECK(info->path == TransitionPath::kParity);
    CHECK(info->object.width == Width::kSecond);
    CHECK(f.IsWhole());
  }
}

}  // namespace
}  // namespace ers::sim
