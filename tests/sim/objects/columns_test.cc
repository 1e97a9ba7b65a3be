// Short elastic values in columns: one item for each node in place of several.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layout/geometry.h"
#include "net/task.h"
#include "plan/planners.h"
#include "sim/objects/one_value.h"
#include "store/blocks/plan_steps.h"

namespace ers::sim {
namespace {

using layout::BlockId;

struct Fixture : OneValue {
  explicit Fixture(const std::string& text, int max_failures = 0)
      : OneValue(text, Unit::kColumns, max_failures) {}

  TransitionInfo Turn(Width to) {
    const auto done = OneValue::Turn({to, {}});
    REQUIRE(done.has_value());
    return *done;
  }
  void Update(std::uint64_t offset, std::size_t bytes) {
    std::vector<std::byte> part(bytes);
    for (std::byte& byte : part) byte = std::byte(world.random().Below(256));
    std::ranges::copy(part,
                      value.begin() + static_cast<std::ptrdiff_t>(offset));
    REQUIRE(
        net::SyncWait(process, store.Update("key", offset, part)).has_value());
  }
  void Append(std::size_t bytes) {
    const std::size_t before = value.size();
    value.resize(before + bytes, std::byte{5});
    std::size_t given = before;
    const Source source =
        [&](std::span<std::byte> into) -> Result<std::size_t> {
      const std::size_t count = std::min(into.size(), value.size() - given);
      std::memcpy(into.data(), value.data() + given, count);
      given += count;
      return count;
    };
    REQUIRE(net::SyncWait(process, store.Append("key", source)).has_value());
  }
};

constexpr std::size_t kColumnBelow = OneValue::kColumnBelow;

TEST_CASE("a short elastic value has one item for each node") {
  Fixture f("ers2:4,1,5");
  f.Put(5000);
  CHECK(f.Items() == 6);
  const ObjectDetail where = f.Where();
  CHECK(where.unit == Unit::kColumns);
  REQUIRE(where.blocks.size() == 6);
  for (const BlockState& column : where.blocks) {
    CHECK(column.present);
    // 20 cells of 250 bytes: 4 in a data column, and one for each of the five
    // narrow stripes in that of parity.
    const bool data = column.kind == StoredBlockKind::kData;
    CHECK(column.bytes == (data ? 1000 : 1250));
  }
  CHECK(f.IsWhole());
  CHECK(f.Lacking().empty());
  f.Put(kColumnBelow);
  f.Rest();
  CHECK(f.Where().unit == Unit::kBlocks);
  CHECK(f.Items() == 25);
}

TEST_CASE("values that are not elastic have no columns") {
  Fixture f("rs:4,2");
  f.Put(100);
  CHECK(f.Where().unit == Unit::kBlocks);
  CHECK(f.Items() == 6);
}

TEST_CASE("values in columns change their width, and move what is planned") {
  const std::string scheme =
      GENERATE("ers2:4,1,5", "ers1:2,2,4", "srs:3,1,6", "ers2:4,1,8");
  CAPTURE(scheme);
  Fixture f(scheme);
  f.Put(3001);
  const layout::Geometry columns(f.scheme, Unit::kColumns);
  for (const Width to : {Width::kWide, Width::kNarrow}) {
    const TransitionInfo info = f.Turn(to);
    const auto plan = plan::PlanTransition(
        columns, to == Width::kWide ? plan::kForward : plan::kBackward, {}, {});
    const plan::ReadCount reads = plan::CountReads(columns, *plan);
    CHECK(info.path == TransitionPath::kPlan);
    CHECK(static_cast<int>(info.data_reads) == reads.data);
    CHECK(static_cast<int>(info.parity_reads) == reads.parity);
    CHECK(static_cast<int>(info.writes) == f.scheme.m);
    CHECK(f.Where().unit == Unit::kColumns);
    CHECK(f.IsWhole());
    f.Rest();
    CHECK(f.Items() == f.scheme.kp + f.scheme.m);
    CHECK(f.Lacking().empty());
  }
}

TEST_CASE("an update in columns rewrites what it touches, and parity") {
  const Width width = GENERATE(Width::kNarrow, Width::kWide);
  CAPTURE(static_cast<int>(width));
  Fixture f("ers2:4,1,5");
  f.Put(5000, width);
  const auto updates = {std::pair(0, 1),    std::pair(999, 2),
                        std::pair(0, 5000), std::pair(1000, 1000),
                        std::pair(4999, 1), std::pair(700, 3900)};
  for (const auto& [offset, bytes] : updates) {
    CAPTURE(offset, bytes);
    f.Update(static_cast<std::uint64_t>(offset),
             static_cast<std::size_t>(bytes));
    CHECK(f.IsWhole());
    f.Rest();
    CHECK(f.Items() == 6);
    CHECK(f.Lacking().empty());
  }
}

TEST_CASE("a value that grows changes from columns to blocks") {
  Fixture f("ers2:2,1,3");
  f.Put(100);
  f.Append(200);
  CHECK(f.Where().unit == Unit::kColumns);
  CHECK(f.IsWhole());
  f.Append(kColumnBelow);
  CHECK(f.Where().unit == Unit::kBlocks);
  CHECK(f.IsWhole());
  f.Append(100);
  CHECK(f.IsWhole());
  f.Rest();
  CHECK(f.Items() == 6 + 3);
  CHECK(f.Lacking().empty());
}

TEST_CASE("a client without a threshold leaves the unit as it is") {
  Fixture f("ers2:2,1,4");
  store::Store other(
      f.session, {.scheme = f.scheme, .inline_below = 0, .column_below = 0});
  const auto append = [&](store::Store& by) {
    const Source more =
        [given =
             false](std::span<std::byte> into) mutable -> Result<std::size_t> {
      if (std::exchange(given, true)) return 0;
      into.front() = std::byte{5};
      return 1;
    };
    REQUIRE(net::SyncWait(f.process, by.Append("key", more)).has_value());
    f.value.push_back(std::byte{5});
    CHECK(f.IsWhole());
  };
  f.Put(100);
  append(other);
  CHECK(f.Where().unit == Unit::kColumns);
  const Scheme scheme = ParseScheme("ers1:2,1,3").value();
  const auto moved =
      net::SyncWait(f.process, other.Transition("key", {{}, scheme}, {}));
  REQUIRE(moved.has_value());
  CHECK(moved->path == TransitionPath::kReencode);
  CHECK(f.Where().unit == Unit::kColumns);
  CHECK(f.IsWhole());

  REQUIRE(net::SyncWait(f.process, other.Put("key", f.value, {})).has_value());
  CHECK(f.Where().unit == Unit::kBlocks);
  append(other);
  CHECK(f.Where().unit == Unit::kBlocks);
  append(f.store);
  CHECK(f.Where().unit == Unit::kColumns);
  f.Rest();
  CHECK(f.Items() == 5);
  CHECK(f.Lacking().empty());
}

TEST_CASE("m changes, and columns of data stay") {
  Fixture f("ers2:2,1,3", 2);
  f.Put(1000);
  const auto all = [&f] {
    std::set<std::string> keys;
    for (const auto& server : f.world.servers()) {
      for (const std::string& key : server->items().LiveKeys()) {
        if (key.starts_with("ers!b") && key != "ers!boot") keys.insert(key);
      }
    }
    return keys;
  };
  const std::set<std::string> before = all();
  for (const int m : {2, 1}) {
    Scheme scheme = f.scheme;
    scheme.m = m;
    const auto moved =
        net::SyncWait(f.process, f.store.Transition("key", {{}, scheme}, {}));
    REQUIRE(moved.has_value());
    CHECK(moved->path == TransitionPath::kParity);
    f.Rest();
    CHECK(f.Where().unit == Unit::kColumns);
    CHECK(f.Items() == 3 + m);
    CHECK(std::ranges::includes(all(), before));
    CHECK(f.IsWhole());
    CHECK(f.Lacking().empty());
  }
  CHECK(all() == before);
}

TEST_CASE("a damaged column is found, and made anew") {
  const bool data = GENERATE(true, false);
  CAPTURE(data);
  Fixture f("ers2:2,1,3");
  f.Put(1000);
  const ObjectDetail where = f.Where();
  const BlockState& column = data ? where.blocks.front() : where.blocks.back();
  SimServer& server = *f.world.FindServer(column.server);
  for (const std::string& key : server.items().LiveKeys()) {
    if (!key.starts_with("ers!b") || key == "ers!boot") continue;
    ++server.items().Find(key)->value.back();
  }
  CHECK_FALSE(f.Lacking().empty());
  CHECK_FALSE(f.Lacking(/*repair=*/true).empty());
  CHECK(f.Lacking().empty());
  CHECK(f.IsWhole());
}

TEST_CASE("a value in columns survives the loss of m servers") {
  const Width width = GENERATE(Width::kNarrow, Width::kWide);
  const int first = GENERATE(0, 2, 4);
  CAPTURE(static_cast<int>(width), first);
  Fixture f("ers2:3,2,4");
  for (const std::size_t bytes : {1, 11, 12, 13, 700, 8191}) {
    CAPTURE(bytes);
    f.Put(bytes, width);
    for (const int lost : {first, first + 1}) {
      f.world.servers()[static_cast<std::size_t>(lost)]->Crash();
    }
    CHECK(f.IsWhole());
    f.Turn(width == Width::kWide ? Width::kNarrow : Width::kWide);
    CHECK(f.IsWhole());
    f.Update(0, 1);
    CHECK(f.IsWhole());
    f.Turn(width);
    CHECK(f.IsWhole());
    for (const int lost : {first, first + 1}) {
      f.world.servers()[static_cast<std::size_t>(lost)]->Restart();
    }
    f.Rest();
  }
}

// Stripe 0 is on nodes 0 and 1, stripe 1 on 2 and 0. Where 0 and 1 are
// recovered, the second cell of column 0 needs parity 0 alone; the first one
// needs both.
TEST_CASE("what is read of a column spoils no cell that was recovered") {
  Fixture f("ers1:2,2,3");
  f.Put(600);
  store::Manifest manifest;
  manifest.key = "key";
  manifest.scheme = f.scheme;
  manifest.unit = Unit::kColumns;
  manifest.length = manifest.group_bytes = 600;
  manifest.nodes = {0, 1, 2, 3, 4};
  manifest.ring = 5;
  manifest.data = store::GenerationMap(3, {1, 1});
  manifest.parity = store::GenerationMap(2, {1, 1});
  const store::ObjectMap map(std::make_shared<const store::Manifest>(manifest));
  const layout::Geometry& columns = map.geometry();
  const store::BlockGroup group{f.session, map, 0, nullptr};

  // All parity of the value.
  store::BlockBuffers given(f.session.buffers(), map, 0);
  store::BlockWriter none(group, {});
  const plan::Plan put = plan::PlanPut(columns, Width::kNarrow, {});
  for (BlockId c = 0; c < 3; ++c) given.Give(c, f.value.data() + 200 * c);
  store::PlanSteps(group, put, store::PlanSteps::Given::kAtTheEnd, given, none,
                   nullptr)
      .RunRest();

  const BlockId parity[] = {columns.ParityId(Width::kNarrow, 0, 0),
                            columns.ParityId(Width::kNarrow, 0, 1)};
  const std::vector<BlockId> wanted{0, 1, 2};
  const auto get = plan::PlanGet(columns, Width::kNarrow, wanted, {{0, 1}, {}});
  REQUIRE(get);
  store::BlockBuffers buffers(f.session.buffers(), map, 0);
  store::PlanSteps steps(group, *get, store::PlanSteps::Given::kAtTheEnd,
                         buffers, none, nullptr);
  const auto come = [&](BlockId column, const std::byte* content) {
    std::memcpy(buffers.ForStored(column), content, map.BlockBytes(0, column));
    buffers.SetHave(column);
    steps.OnInput(column);
  };
  come(2, f.value.data() + 400);
  come(parity[0], given.ForParity(parity[0]));
  CHECK(buffers.Have(0) == nullptr);
  std::memset(buffers.ForStored(0), 0xee, map.BlockBytes(0, 0));
  come(parity[1], given.ForParity(parity[1]));
  for (const BlockId c : {0, 1}) {
    REQUIRE(buffers.Have(c) != nullptr);
    CHECK(std::memcmp(buffers.Have(c), f.value.data() + 200 * c, 200) == 0);
  }
}

}  // namespace
}  // namespace ers::sim
