// Width and m of a value change at once: its data stay where they are, what
// moves is what is planned, and it is read and committed once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "layout/geometry.h"
#include "plan/planners.h"
#include "sim/objects/one_value.h"
#include "store/upkeep/rebuild.h"

namespace ers::sim {
namespace {

constexpr int kMaxParity = 3;
constexpr std::size_t kBytes = 3001;

Scheme With(Scheme scheme, int m) {
  scheme.m = m;
  return scheme;
}

TransitionTarget To(Width width, int m) {
  TransitionTarget target;
  target.width = width;
  target.parity_blocks = m;
  return target;
}

struct Fixture : OneValue {
  Fixture(const std::string& text, Unit of_items)
      : OneValue(text, of_items, kMaxParity), unit(of_items) {}

  void PutAs(const plan::Form& form) {
    PutOptions options;
    options.scheme = With(scheme, form.m);
    options.width = form.width;
    Put(kBytes, options);
  }
  // With nothing missing.
  plan::Plan PlanOf(const plan::FormChange& change,
                    const plan::Missing& missing = {}) {
    const int most = std::max(change.from.m, change.to.m);
    const layout::Geometry geometry(With(scheme, most), unit);
    return *plan::PlanTransition(geometry, change, {}, missing);
  }
  void CheckMoved(const TransitionInfo& info, const plan::Plan& plan) {
    const layout::Geometry geometry(With(scheme, kMaxParity), unit);
    const plan::ReadCount reads = plan::CountReads(geometry, plan);
    CHECK(static_cast<int>(info.data_reads) == reads.data);
    CHECK(static_cast<int>(info.parity_reads) == reads.parity);
    CHECK(info.writes == plan.writes.size());
  }
  // All of the form's blocks are there, and no other.
  void CheckStored(const plan::Form& form) {
    Rest();
    const ObjectDetail where = Where();
    CHECK(where.scheme == With(scheme, form.m));
    CHECK(where.width == form.width);
    CHECK(where.unit == unit);
    const layout::Geometry geometry(where.scheme, unit);
    CHECK(static_cast<int>(where.blocks.size()) ==
          geometry.stored_blocks(form.width));
    CHECK(std::ranges::all_of(where.blocks, &BlockState::present));
    CHECK(Items() == geometry.stored_blocks(form.width));
    CHECK(Lacking().empty());
    CHECK(IsWhole());
  }
  std::vector<plan::Form> Forms() const {
    std::vector<plan::Form> forms;
    for (const Width width : WidthsOf(scheme)) {
      for (int m = 1; m <= kMaxParity; ++m) forms.push_back({width, m});
    }
    return forms;
  }
  BlockState At(int node) {
    const ObjectDetail where = Where();
    return *std::ranges::find(where.blocks, node, &BlockState::node);
  }

  const Unit unit;
};

TEST_CASE("a value goes from every width and m to every other in one step") {
  const std::string text =
      GENERATE("ers2:4,1,5", "ers1:2,1,4", "srs:3,1,4", "ers:2-3-6,1");
  const Unit unit = GENERATE(Unit::kBlocks, Unit::kColumns);
  CAPTURE(text, static_cast<int>(unit));
  Fixture f(text, unit);
  for (const plan::Form& from : f.Forms()) {
    for (const plan::Form& to : f.Forms()) {
      if (from == to) continue;
      CAPTURE(static_cast<int>(from.width), from.m, static_cast<int>(to.width),
              to.m);
      f.PutAs(from);
      const auto info = f.Turn(To(to.width, to.m));
      REQUIRE(info.has_value());
      CHECK(info->path == (from.width == to.width ? TransitionPath::kParity
                                                  : TransitionPath::kPlan));
      f.CheckMoved(*info, f.PlanOf({from, to}));
      f.CheckStored(to);
    }
  }
}

TEST_CASE("width and m at once go with the scheme named, too") {
  Fixture f("ers2:4,1,5", Unit::kBlocks);
  f.PutAs({Width::kNarrow, 1});
  TransitionTarget target;
  target.scheme = With(f.scheme, 2);
  target.width = Width::kWide;
  const auto info = f.Turn(target);
  REQUIRE(info.has_value());
  CHECK(info->path == TransitionPath::kPlan);
  f.CheckStored({Width::kWide, 2});
  const auto again = f.Turn(To(Width::kWide, 2));
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().code() == StatusCode::kAlreadyThere);
}

TEST_CASE("a value survives the loss of as many servers as its new m") {
  const Unit unit = GENERATE(Unit::kBlocks, Unit::kColumns);
  const int m = GENERATE(1, 2, 3);
  const int first = GENERATE(0, 3, 5);
  CAPTURE(static_cast<int>(unit), m, first);
  Fixture f("ers2:4,1,5", unit);
  f.PutAs({Width::kNarrow, 4 - m});
  if (m != 4 - m) REQUIRE(f.Turn(To(Width::kWide, m)).has_value());
  if (m == 4 - m) REQUIRE(f.Turn({Width::kWide, {}}).has_value());
  for (int i = 0; i < m; ++i) {
    f.world.servers()[static_cast<std::size_t>(first + i)]->Crash();
  }
  CHECK(f.IsWhole());
  CHECK(f.Where().width == Width::kWide);
}

TEST_CASE("width and m change while a server is out, by the degraded plan") {
  const Unit unit = GENERATE(Unit::kBlocks, Unit::kColumns);
  const auto to =
      GENERATE(plan::Form{Width::kWide, 2}, plan::Form{Width::kNarrow, 3});
  const plan::Form from{
      to.width == Width::kWide ? Width::kNarrow : Width::kWide, 1};
  for (int node = 0; node <= 5; ++node) {
    CAPTURE(static_cast<int>(unit), static_cast<int>(to.width), to.m, node);
    Fixture f("ers2:4,1,5", unit);
    f.PutAs(from);
    f.ServerOf(f.At(node)).Crash();
    CHECK(f.IsWhole());
    // A write finds it dead.
    REQUIRE(net::SyncWait(f.process, f.store.Put("other", f.value, {}))
                .has_value());
    const auto info = f.Turn(To(to.width, to.m));
    REQUIRE(info.has_value());
    f.CheckMoved(*info, f.PlanOf({from, to}, {{}, {node}}));
    CHECK(f.IsWhole());
    for (const auto& server : f.world.servers()) server->Restart();
    REQUIRE(
        net::SyncWait(f.process, store::Rebuild(f.session, {})).has_value());
    REQUIRE(net::SyncWait(f.process, f.store.Delete("other")).ok());
    f.CheckStored(to);
  }
}

TEST_CASE("parity that dead servers make necessary does not go with a width") {
  const Unit unit = GENERATE(Unit::kBlocks, Unit::kColumns);
  CAPTURE(static_cast<int>(unit));
  Fixture f("ers2:4,1,5", unit);
  f.PutAs({Width::kNarrow, 2});
  // A node with data, and that of the parity that would be left.
  SimServer& data = f.ServerOf(f.At(0));
  SimServer& parity = f.ServerOf(f.At(5));
  data.Crash();
  parity.Crash();
  CHECK(f.IsWhole());
  const auto refused = f.Turn(To(Width::kWide, 1));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == StatusCode::kUnavailable);
  CHECK(f.Where().scheme.m == 2);
  CHECK(f.IsWhole());
}

TEST_CASE("blocks that are gone count against the form that they would be in") {
  Fixture f("ers:2-3-6,1", Unit::kBlocks);
  f.PutAs({Width::kNarrow, 1});
  // One of each narrow stripe, and so three of the wide one.
  for (const BlockState& block : f.Where().blocks) {
    if (block.kind != StoredBlockKind::kData || block.block % 2 != 0) continue;
    for (const std::string& key : f.ServerOf(block).items().LiveKeys()) {
      if (key.starts_with("ers!b") && key != "ers!boot") {
        f.ServerOf(block).Evict(key);
      }
    }
  }
  const auto refused = f.Turn(To(Width::kWide, 2));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == StatusCode::kUnavailable);
  CHECK(refused.error().message().find("verify --repair") != std::string::npos);
  CHECK(f.Where().width == Width::kNarrow);
  CHECK(f.IsWhole());  // which stores them anew
  f.Rest();
  REQUIRE(f.Turn(To(Width::kWide, 2)).has_value());
  f.CheckStored({Width::kWide, 2});
}

TEST_CASE("more parity than f, or than there are servers for, is refused") {
  Fixture f("ers2:4,1,5", Unit::kBlocks);
  f.PutAs({Width::kNarrow, 1});
  for (const int m : {kMaxParity + 1, 0, 251}) {
    CAPTURE(m);
    const auto refused = f.Turn(To(Width::kWide, m));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == StatusCode::kInvalidArgument);
  }
  f.CheckStored({Width::kNarrow, 1});
}

TEST_CASE("what has one width only has no other with another m either") {
  Fixture f("rs:4,1", Unit::kBlocks);
  f.PutAs({Width::kNarrow, 1});
  const auto refused = f.Turn(To(Width::kWide, 2));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == StatusCode::kInvalidArgument);
  TransitionTarget target;
  target.parity_blocks = 2;
  const auto info = f.Turn(target);
  REQUIRE(info.has_value());
  CHECK(info->path == TransitionPath::kParity);
  f.CheckStored({Width::kNarrow, 2});
}

}  // namespace
}  // namespace ers::sim
