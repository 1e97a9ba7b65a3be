// The check of all objects: what it finds, beside changes and in peace.
#include "store/upkeep/verify.h"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "sim/world/model_server.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/block_header.h"
#include "store/format/object_map.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/repair/key_walk.h"
#include "store/replicas/replica_set.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 6;
constexpr int kKeys = 6;

std::string Pattern(int number, std::size_t size) {
  std::string value(size, 'v');
  for (std::size_t i = 0; i < size; ++i) {
    value[i] = static_cast<char>(number + static_cast<int>(i * i >> 3));
  }
  return value;
}

// A process of its own, with what it knows of the cluster.
struct Process {
  Process(World& world, const std::string& name, const std::string& servers)
      : runtime(world.AddProcess(name)), session(runtime, Open(servers), 16) {}

  static std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 2;
    return store::OpenClusterState(options).value();
  }

  SimRuntime& runtime;
  store::Session session;
  store::Store store{session, ClientFor()};

  static ClientOptions ClientFor() {
    ClientOptions options;
    options.scheme = {SchemeKind::kErs2, 2, 2, 3};
    options.inline_below = 64;
    return options;
  }
};

struct Fixture {
  explicit Fixture(std::uint64_t seed = 1) : world(seed) {
    for (const auto& server : world.servers()) {
      server->on_applied = [this](const SimConnection& from,
                                  const AppliedCommand& command) {
        if (&from.process() == &checker.runtime) {
          written.push_back(std::string(command.verb) + " " +
                            std::string(command.key));
        }
      };
    }
    for (int i = 0; i < kKeys; ++i) MustPut(i, i == 0 ? 10 : 5000);
  }

  static std::string Key(int i) { return fmt::format("k{}", i); }
  void MustPut(int i, std::size_t size) {
    const std::string value = Pattern(i, size);
    const auto bytes = std::as_bytes(std::span(value));
    REQUIRE(net::SyncWait(writer.runtime, writer.store.Put(Key(i), bytes, {}))
                .has_value());
  }

  // Changes objects in all ways, one after the other, until `ended`.
  net::Task<void> Write(int first) {
    ++writers;
    for (int i = first; !ended; ++i) {
      const std::string key = Key(i % kKeys);
      const std::string value = Pattern(i, i % 4 == 0 ? 20 : 3000);
      const auto bytes = std::as_bytes(std::span(value));
      const TransitionTarget wide{Width::kWide, std::nullopt};
      const PutOptions put;
      switch (i / kKeys % 4) {
        case 0:
          (void)co_await writer.store.Put(key, bytes, put);
          break;
        case 1:
          (void)co_await writer.store.Update(key, 3, bytes.first(5));
          break;
        case 2:
          (void)co_await writer.store.Transition(key, wide,
                                                 TransitionVariant::kOptimal);
          break;
        default:
          if (i % 3 == 0) (void)co_await writer.store.Delete(key);
      }
      ++changes;
    }
    --writers;
  }

  VerifyReport Verify(bool repair = false, std::uint64_t rate = 0) {
    VerifyOptions options;
    options.repair = repair;
    options.bytes_per_second = rate;
    found.clear();
    options.found = [this](const Finding& finding) {
      found[std::string(finding.key)].push_back(finding.fault);
    };
    store::Verifier verifier(checker.session, options);
    const auto report = net::SyncWait(checker.runtime, verifier.Run());
    REQUIRE(report.has_value());
    return *report;
  }

  std::shared_ptr<const store::Manifest> ManifestOf(int i) {
    store::ReplicaSet replicas(writer.session, Key(i));
    auto manifest = net::SyncWait(writer.runtime, replicas.ReadPrimary());
    REQUIRE(manifest.has_value());
    return *manifest;
  }
  ModelItems& ItemsOf(const store::ObjectMap& map, layout::BlockId block) {
    const auto member = static_cast<std::size_t>(map.MemberOf(0, block));
    const std::string& name =
        writer.session.member_name(static_cast<int>(member));
    for (const auto& server : world.servers()) {
      if (server->name() == name) return server->items();
    }
    FAIL("no such server");
    std::abort();
  }
  ModelItem& Item(const store::ObjectMap& map, layout::BlockId block) {
    return *ItemsOf(map, block).Find(map.KeyOf(0, block));
  }
  void Drop(const store::ObjectMap& map, layout::BlockId block) {
    REQUIRE(ItemsOf(map, block).Erase(map.KeyOf(0, block)));
  }
  // Another content, with a checksum that holds.
  void Swap(const store::ObjectMap& map, layout::BlockId block) {
    std::string& item = Item(map, block).value;
    item[store::kBlockHeaderBytes] ^= 1;
    const auto* payload = reinterpret_cast<const std::byte*>(item.data()) +
                          store::kBlockHeaderBytes;
    const store::BlockHeaderBytes header = store::EncodeBlockHeader(
        {map.GenerationOf(0, block), map.Number(0, block)}, payload,
        item.size() - store::kBlockHeaderBytes);
    std::memcpy(item.data(), header.data(), header.size());
  }
  bool Reads(int i, std::size_t size) {
    Value value;
    const std::string key = Key(i);
    const auto got =
        net::SyncWait(writer.runtime, writer.store.Get(key, value));
    return got && value.text() == Pattern(i, size);
  }
  // Until nothing of a change is under way, such as the dropping of blocks.
  void Reconcile() {
    world.RunUntil([] { return false; }, seconds(1));
  }

  // By the checker, also at its end.
  std::vector<std::string> written;
  World world;
  std::string servers = world.AddServers(kServers);
  Process writer{world, "writer", servers};
  Process checker{world, "checker", servers};
  std::map<std::string, std::vector<Fault>> found;
  bool ended = false;
  int writers = 0;
  int changes = 0;
};

std::uint64_t AllFaults(const VerifyReport& report) {
  std::uint64_t all = 0;
  for (const std::uint64_t count : report.faults) all += count;
  return all;
}

TEST_CASE("a check beside changes finds nothing and writes nothing") {
  Fixture f(GENERATE(range(1, 9)));
  // So that a change may come between a manifest and its blocks, for which it
  // waits where there is a rate.
  for (const auto& server : f.world.servers()) {
    server->faults().slow_max = milliseconds(5);
  }
  // On one key at a time, too.
  for (const int first : {0, 3, kKeys}) net::Spawn(f.Write(first));
  for (int i = 0; i < 4; ++i) {
    const int before = f.changes;
    const VerifyReport report = f.Verify(/*repair=*/false, i * 200'000);
    CAPTURE(f.found, report.unchecked);
    CHECK(AllFaults(report) == 0);
    CHECK(f.changes > before);
  }
  f.ended = true;
  REQUIRE(f.world.RunUntil([&] { return f.writers == 0; }, seconds(60)));
  const VerifyReport report = f.Verify();
  CHECK(report.Whole());
  CHECK(f.written.empty());
}

TEST_CASE("each fault is reported as what it is, and repaired") {
  Fixture f;
  const store::ObjectMap one(f.ManifestOf(1));
  const store::ObjectMap two(f.ManifestOf(2));
  const store::ObjectMap three(f.ManifestOf(3));
  const std::vector<layout::BlockId> blocks =
      one.geometry().StoredBlocks(one.width());
  const layout::BlockId parity = blocks.back();
  f.Drop(one, 0);
  f.Item(two, 1).value.back() ^= 4;
  f.Swap(three, parity);

  VerifyReport report = f.Verify();
  CHECK(report.objects == kKeys);
  CHECK(report.damaged == 3);
  CHECK(report.unreadable == 0);
  CHECK(report.blocks == blocks.size() * (kKeys - 1));
  CHECK(f.found == std::map<std::string, std::vector<Fault>>{
                       {"k1", {Fault::kMissing}},
                       {"k2", {Fault::kCorrupt}},
                       {"k3", {Fault::kParityMismatch}}});
  CHECK(f.written.empty());

  report = f.Verify(/*repair=*/true);
  CHECK(report.repaired == 3);
  CHECK(report.repaired_blocks == 3);
  CHECK(report.Whole());
  CHECK(AllFaults(f.Verify()) == 0);
  for (int i = 1; i < kKeys; ++i) CHECK(f.Reads(i, 5000));
}

TEST_CASE("parity that contradicts decoded data is reported, and left alone") {
  Fixture f;
  const store::ObjectMap one(f.ManifestOf(1));
  const std::vector<layout::BlockId> blocks =
      one.geometry().StoredBlocks(one.width());
  const int stripe = one.geometry().Info(blocks.back(), one.width()).stripe;
  const layout::BlockId data =
      one.geometry().StripeData(one.width(), stripe).front();
  f.Drop(one, data);
  f.Swap(one, blocks.back());
  f.Verify(/*repair=*/true);
  CHECK(f.found["k1"] ==
        std::vector<Fault>{Fault::kMissing, Fault::kParityMismatch});
  const VerifyReport report = f.Verify();
  CHECK(report.damaged == 1);
  CHECK(f.ItemsOf(one, data).Find(one.KeyOf(0, data)) == nullptr);
}

TEST_CASE("an object that lost too much is reported as unreadable") {
  Fixture f;
  const store::ObjectMap one(f.ManifestOf(1));
  for (const layout::BlockId block : one.geometry().StoredBlocks(one.width())) {
    f.Drop(one, block);
  }
  for (const bool repair : {false, true}) {
    const VerifyReport report = f.Verify(repair);
    CHECK(report.unreadable == 1);
    CHECK(report.damaged == 1);
    CHECK(report.repaired == 0);
    CHECK_FALSE(report.Whole());
  }
}

TEST_CASE(
    "replicas that differ for good are reported, and reconciled by a repair") {
  Fixture f;
  const bool coded = GENERATE(false, true);
  const std::string key = Fixture::Key(coded ? 1 : 0);
  const auto detail = net::SyncWait(f.writer.runtime, f.writer.store.Stat(key));
  for (const auto& server : f.world.servers()) {
    if (server->name() == detail->replicas.front()) REQUIRE(server->Evict(key));
  }
  VerifyReport report = f.Verify();
  CHECK(f.found == std::map<std::string, std::vector<Fault>>{
                       {key, {Fault::kReplicasDiffer}}});
  CHECK(f.written.empty());
  report = f.Verify(/*repair=*/true);
  CHECK(report.repaired == 1);
  CHECK(AllFaults(f.Verify()) == 0);
}

// Readers see it, and reconciling takes it away.
TEST_CASE("a delete that was cut off is reported, and ended by a repair") {
  Fixture f;
  const bool coded = GENERATE(false, true);
  // It is finished where the primary has it, and undone elsewhere.
  const bool finished = GENERATE(true, false);
  CAPTURE(coded, finished);
  const std::string key = Fixture::Key(coded ? 1 : 0);
  const auto detail = net::SyncWait(f.writer.runtime, f.writer.store.Stat(key));
  std::map<std::string, ModelItems> before;
  for (const auto& server : f.world.servers()) {
    before.emplace(server->name(), server->items());
  }
  REQUIRE(net::SyncWait(f.writer.runtime, f.writer.store.Delete(key)).ok());
  f.Reconcile();
  // It has changed one replica alone. Until a change is committed its blocks
  // are there.
  const std::string& changed =
      finished ? detail->replicas.back() : detail->replicas.front();
  for (const auto& server : f.world.servers()) {
    ModelItems all = before.at(server->name());
    if (server->name() == changed) all.Put(key, *server->items().Find(key));
    server->items() = std::move(all);
  }
  CHECK(f.Verify().objects == kKeys);
  const std::vector<Fault> others(finished ? detail->replicas.size() - 1 : 1,
                                  Fault::kReplicasDiffer);
  CHECK(f.found == std::map<std::string, std::vector<Fault>>{{key, others}});
  CHECK(f.written.empty());
  const VerifyReport report = f.Verify(/*repair=*/true);
  CHECK(report.repaired == 1);
  CHECK(f.Verify().objects == kKeys - (finished ? 1 : 0));
  CHECK(f.found.empty());
  Value value;
  const auto got =
      net::SyncWait(f.writer.runtime, f.writer.store.Get(key, value));
  CHECK(got.has_value() == !finished);
}

TEST_CASE(
    "a server that lost its memory unseen is reported, and no view changed") {
  // The server's answers come before or behind those of enough others.
  const std::uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  Fixture f(seed);
  f.world.servers()[2]->Crash();
  const bool back = GENERATE(false, true);
  if (back) f.world.servers()[2]->Restart();
  const VerifyReport report = f.Verify();
  CHECK(report.damaged > 0);
  CHECK(report.of(Fault::kOutOfReach) == AllFaults(report));
  // The mark of the new memory, which every connection leaves.
  for (const std::string& command : f.written) {
    CHECK(command.ends_with(" ers!boot"));
  }
  CHECK_FALSE(f.checker.session.view());
}

TEST_CASE("a check moves no more bytes a second than it may") {
  Fixture f;
  VerifyOptions options;
  store::Verifier free(f.checker.session, options);
  const auto full = net::SyncWait(f.checker.runtime, free.Run());
  options.bytes_per_second = full->bytes / 4;
  store::Verifier bound(f.checker.session, options);
  const TimePoint begin = f.checker.runtime.Now();
  REQUIRE(net::SyncWait(f.checker.runtime, bound.Run()).has_value());
  CHECK(f.checker.runtime.Now() - begin > milliseconds(2000));
}

TEST_CASE("a walk holds no more keys than it may, and misses none") {
  Fixture f;
  for (int i = 0; i < 40; ++i) f.MustPut(i, 10);
  const store::ListTerms terms;
  store::KeyWalk walk(f.writer.session, terms, 7);
  std::map<std::string, int> seen;
  for (;;) {
    const auto slice = net::SyncWait(f.writer.runtime,
                                     walk.NextSlice(f.writer.session.view()));
    REQUIRE(slice.has_value());
    if (!*slice) break;
    int held = 0;
    for (; !walk.empty(); ++held) ++seen[walk.Take().name];
    CHECK(held <= 20);
  }
  CHECK(walk.total() == 40);
  CHECK(seen.size() == 40);
  for (const auto& [key, times] : seen) CHECK(times == 1);
}

}  // namespace
}  // namespace ers::sim
