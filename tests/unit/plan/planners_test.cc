// What form plans have, and what planners refuse.
#include "plan/planners.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "plan/plan_cache.h"
#include "unit/plan/parameter_sets.h"

namespace ers::plan {
namespace {

using Blocks = std::vector<BlockId>;

Geometry Of(const char* text) { return Geometry(ParseScheme(text).value()); }

TEST_CASE("a healthy PUT is one step of m parities per stripe") {
  const Geometry geometry = Of("ers2:4,3,5");
  for (const Width width : {Width::kNarrow, Width::kWide}) {
    const Plan plan = PlanPut(geometry, width, {});
    CHECK(plan.given.size() == 20);
    CHECK(plan.reads.empty());
    CHECK(plan.unwritten.empty());
    CHECK(plan.writes == geometry.StoredBlocks(width));
    REQUIRE(static_cast<int>(plan.steps.size()) ==
            geometry.stripe_count(width));
    for (const Step& step : plan.steps) {
      CHECK(static_cast<int>(step.inputs.size()) ==
            geometry.stripe_width(width));
      CHECK(step.outputs.size() == 3);
    }
  }
}

TEST_CASE("a PUT to nothing but dead parity nodes has no steps") {
  const Geometry geometry = Of("ers2:4,1,5");
  const Plan plan = PlanPut(geometry, Width::kNarrow, {{}, {5}});
  CHECK(plan.steps.empty());
  CHECK(plan.writes.size() == 20);
  CHECK(plan.unwritten.size() == 5);
}

TEST_CASE("a healthy GET reads the wanted blocks and computes nothing") {
  const Geometry geometry = Of("ers2:4,3,5");
  const auto plan = PlanGet(geometry, Width::kNarrow, Blocks{7, 3, 7, 12}, {});
  REQUIRE(plan.has_value());
  CHECK(plan->reads == Blocks{7, 3, 12});
  CHECK(plan->steps.empty());
}

TEST_CASE("a degraded GET of a whole stripe reads one parity block more") {
  const Geometry geometry = Of("rs:4,2");
  const auto plan =
      PlanGet(geometry, Width::kNarrow, Blocks{0, 1, 2, 3}, {{2}, {}});
  REQUIRE(plan.has_value());
  CHECK(plan->reads == Blocks{0, 1, 3, 4});
  REQUIRE(plan->steps.size() == 1);
  CHECK(plan->steps[0].outputs == Blocks{2});
}

TEST_CASE("a degraded GET of one replica reads one copy") {
  const Geometry geometry = Of("rep:3");
  const auto plan = PlanGet(geometry, Width::kNarrow, Blocks{0}, {{0}, {1}});
  REQUIRE(plan.has_value());
  CHECK(plan->reads == Blocks{2});
  CHECK(plan->steps.at(0).coefficients == std::vector<std::uint8_t>{1});
}

TEST_CASE("more than m missing blocks of a stripe are refused") {
  const Geometry geometry = Of("rs:4,2");
  const Missing missing{{0, 1, 4}, {}};
  const auto width = Width::kNarrow;
  CHECK_FALSE(PlanGet(geometry, width, Blocks{0}, missing).has_value());
  CHECK(PlanGet(geometry, width, Blocks{2, 3}, missing).has_value());
  CHECK_FALSE(PlanRebuild(geometry, width, Blocks{0}, missing).has_value());
  CHECK_FALSE(PlanUpdate(geometry, width, Blocks{0}, {}, missing).has_value());
  CHECK_FALSE(
      PlanUpdate(geometry, width, Blocks{2}, Blocks{2}, missing).has_value());
  // Everything that is missing is overwritten.
  CHECK(PlanUpdate(geometry, width, Blocks{0, 1}, {}, missing).has_value());

  const Geometry elastic = Of("ers2:4,1,5");
  const Missing two{{}, {0, 1}};
  CHECK_FALSE(
      PlanTransition(elastic, kForward, TransitionVariant::kOptimal, two)
          .has_value());
  CHECK_FALSE(
      PlanTransition(elastic, kBackward, TransitionVariant::kOptimal, two)
          .has_value());
}

TEST_CASE("an UPDATE takes the cheaper of delta and re-encoding") {
  const Geometry geometry = Of("rs:6,2");
  const auto width = Width::kNarrow;
  const auto one = PlanUpdate(geometry, width, Blocks{3}, {}, {});
  REQUIRE(one.has_value());
  CHECK(one->reads == Blocks{3, 6, 7});  // delta: 3 reads, not 5
  CHECK(one->writes == Blocks{3, 6, 7});
  const auto most = PlanUpdate(geometry, width, Blocks{0, 1, 2, 3}, {}, {});
  REQUIRE(most.has_value());
  CHECK(most->reads == Blocks{4, 5});
  const auto all =
      PlanUpdate(geometry, width, Blocks{0, 1, 2, 3, 4, 5}, {}, {});
  REQUIRE(all.has_value());
  CHECK(all->reads.empty());
  // Keeping old content makes re-encoding dearer: 3 reads.
  const auto keep =
      PlanUpdate(geometry, width, Blocks{0, 1, 2, 3}, Blocks{0}, {});
  REQUIRE(keep.has_value());
  CHECK(keep->reads.size() == 3);
}

TEST_CASE("an UPDATE on stripes whose parity is all dead reads what it keeps") {
  const Geometry geometry = Of("rs:4,1");
  const Missing missing{{}, {4}};
  const auto width = Width::kNarrow;
  const auto plan =
      PlanUpdate(geometry, width, Blocks{0, 1}, Blocks{1}, missing);
  REQUIRE(plan.has_value());
  CHECK(plan->reads == Blocks{1});
  CHECK(plan->steps.empty());
  CHECK(plan->unwritten == Blocks{4});
}

TEST_CASE("a transition reads nothing for dead parity nodes") {
  const Geometry geometry = Of("ers2:4,1,5");
  const auto plan = PlanTransition(geometry, kForward,
                                   TransitionVariant::kOptimal, {{}, {5}});
  REQUIRE(plan.has_value());
  CHECK(plan->reads.empty());
  CHECK(plan->steps.empty());
  CHECK(plan->unwritten.size() == 4);
  CHECK(plan->drops.size() == 5);
}

TEST_CASE("a dead node whose data parity carries over costs no read") {
  const Geometry geometry = Of("ers2:12,3,14");
  const auto variant = TransitionVariant::kOptimal;
  const auto healthy = PlanTransition(geometry, kForward, variant, {});
  const auto degraded = PlanTransition(geometry, kForward, variant, {{}, {16}});
  REQUIRE(healthy.has_value());
  REQUIRE(degraded.has_value());
  CHECK(degraded->reads.size() < healthy->reads.size());
}

// Steps that cannot run before the last block is read.
int StepsOfLastRead(const Plan& plan) {
  const auto last = static_cast<std::uint32_t>(plan.reads.size() - 1);
  return static_cast<int>(std::count_if(
      plan.steps.begin(), plan.steps.end(), [last](const Step& step) {
        return std::find(step.inputs.begin(), step.inputs.end(), last) !=
               step.inputs.end();
      }));
}

TEST_CASE("the last read of a transition holds one stripe's parity up") {
  for (const SchemeKind kind :
       {SchemeKind::kSrs, SchemeKind::kErs1, SchemeKind::kErs2}) {
    for (const ParameterSet& set : ParameterSets()) {
      const Geometry geometry({kind, set.k, set.m, set.kp});
      INFO(static_cast<int>(kind)
           << ":" << set.k << "," << set.m << "," << set.kp);
      CHECK(StepsOfLastRead(*PlanTransition(
                geometry, kForward, TransitionVariant::kOptimal, {})) == 1);
      CHECK(StepsOfLastRead(*PlanTransition(
                geometry, kBackward, TransitionVariant::kOptimal, {})) == 1);
    }
  }
}

TEST_CASE("a rebuild of a block on a dead node is left unwritten") {
  const Geometry geometry = Of("rs:4,2");
  const auto plan =
      PlanRebuild(geometry, Width::kNarrow, Blocks{0, 5}, {{}, {5}});
  REQUIRE(plan.has_value());
  CHECK(plan->writes == Blocks{0});
  CHECK(plan->unwritten == Blocks{5});
  CHECK(plan->reads == Blocks{1, 2, 3, 4});
}

bool Same(const Plan& a, const Plan& b) {
  return a.reads == b.reads && a.given == b.given && a.writes == b.writes &&
         a.drops == b.drops && a.steps.size() == b.steps.size();
}

TEST_CASE("cached plans are the healthy ones, shared by all threads") {
  const Scheme scheme = ParseScheme("ers2:4,2,6").value();
  const Geometry geometry(scheme);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([] {
      // More plans than are kept, so that the cache starts afresh too.
      for (int kp = 3; kp < 70; ++kp) {
        for (const Width width : {Width::kNarrow, Width::kWide}) {
          CachedPutPlan(Geometry({SchemeKind::kErs2, 2, 1, kp}), width);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const Width width : {Width::kNarrow, Width::kWide}) {
    CHECK(Same(*CachedPutPlan(geometry, width), PlanPut(geometry, width, {})));
  }
  CHECK(CachedPutPlan(geometry, Width::kWide) ==
        CachedPutPlan(geometry, Width::kWide));
  const Geometry columns(scheme, Unit::kColumns);
  CHECK(CachedPutPlan(geometry, Width::kWide)->given.size() == 12);
  CHECK(CachedPutPlan(columns, Width::kWide)->given.size() == 6);
  const std::vector<Form> forms = {{Width::kNarrow, 1},
                                   {Width::kNarrow, 2},
                                   {Width::kWide, 1},
                                   {Width::kWide, 2}};
  for (const auto variant :
       {TransitionVariant::kOptimal, TransitionVariant::kPaper,
        TransitionVariant::kNoOrder}) {
    for (const Form& from : forms) {
      for (const Form& to : forms) {
        if (from == to) continue;
        CHECK(Same(*CachedTransitionPlan(geometry, {from, to}, variant),
                   *PlanTransition(geometry, {from, to}, variant, {})));
      }
    }
  }
}

}  // namespace
}  // namespace ers::plan
