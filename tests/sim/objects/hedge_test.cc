// Reads while servers are late: what replaces their blocks is read, too.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_checks.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kValueBytes = 60'000;
constexpr Duration kLate = milliseconds(50);
// What a read takes at most that does not wait for a late server: it asks,
// waits as long as its patience lasts, and asks once more.
constexpr Duration kSoon = milliseconds(5);

// One client of six servers, and one object of ers2:4,1,5 on all of them.
struct Fixture {
  explicit Fixture(int percent = 3, std::size_t value_bytes = kValueBytes)
      : value(value_bytes), hedge_percent(percent) {
    for (std::byte& byte : value) byte = std::byte(world.random().Below(256));
    session = NewSession(process, "client");
    store = std::make_unique<store::Store>(*session, ClientOptions{});
    REQUIRE(net::SyncWait(process, store->Put("k", value, {})).has_value());
    where = net::SyncWait(process, store->Stat("k")).value();
  }

  std::unique_ptr<store::Session> NewSession(SimRuntime& runtime,
                                             const std::string& label) const {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 1;
    options.hedge_percent = hedge_percent;
    return std::make_unique<store::Session>(
        runtime, store::OpenClusterState(options, label).value(), 16);
  }

  // As long as it takes to know how long servers take.
  void ReadMuch() {
    for (int i = 0; i < 50; ++i) Get();
    // What was learned before that counts no more.
    Wait(milliseconds(200));
  }
  // Reads and checks the object. How long that took.
  Duration Get() {
    Value got;
    const TimePoint begun = process.Now();
    const auto info = net::SyncWait(process, store->Get("k", got));
    REQUIRE(info.has_value());
    REQUIRE(std::ranges::equal(got.bytes(), value));
    return process.Now() - begun;
  }
  // Reads for so long, with pauses.
  Duration LongestGet(Duration time, Duration pause) {
    const TimePoint begun = world.now();
    Duration longest{};
    while (world.now() - begun < time) {
      longest = std::max(longest, Get());
      Wait(pause);
    }
    return longest;
  }
  void Wait(Duration time) {
    world.RunUntil([] { return false; }, time);
  }

  // Servers with blocks of one kind and no manifest.
  std::vector<SimServer*> With(StoredBlockKind kind) {
    std::set<std::string> names;
    for (const BlockState& block : where.blocks) {
      if (block.kind == kind) names.insert(block.server);
    }
    for (const std::string& replica : where.replicas) names.erase(replica);
    std::vector<SimServer*> found;
    for (const std::string& name : names) {
      found.push_back(world.FindServer(name));
    }
    return found;
  }
  SimServer& WithData(std::size_t number = 0) {
    return *With(StoredBlockKind::kData).at(number);
  }
  SimServer& WithNothing() {
    std::set<std::string> names;
    for (const auto& server : world.servers()) names.insert(server->name());
    for (const BlockState& block : where.blocks) names.erase(block.server);
    for (const std::string& replica : where.replicas) names.erase(replica);
    return *world.FindServer(*names.begin());
  }
  SimServer& Primary() {
    const store::Replicas replicas =
        store::ReplicasOf(*session->view(), session->ring(), "k");
    return *world.servers()[static_cast<std::size_t>(replicas.primary())];
  }
  static void Damage(SimServer& server) {
    for (const std::string& key : server.items().LiveKeys()) {
      if (!key.starts_with("ers!b") || key == "ers!boot") continue;
      ++server.items().Find(key)->value.back();
    }
  }
  static void Delay(SimServer& server, Duration by) {
    server.faults().slow_min = server.faults().slow_max = by;
  }
  // The first byte of a data block on that server.
  std::uint64_t OffsetOn(const SimServer& server) {
    for (const BlockState& block : where.blocks) {
      if (block.kind == StoredBlockKind::kData &&
          block.server == server.name()) {
        return static_cast<std::uint64_t>(block.block) * block.bytes;
      }
    }
    return 0;
  }
  store::StoreCounters& counters() { return session->counters(); }
  std::uint64_t Received() {
    std::uint64_t bytes = 0;
    for (int member = 0; member < session->members(); ++member) {
      bytes += session->link(member).counters().bytes_received.Get();
    }
    return bytes;
  }

  World world{7};
  const std::string servers = world.AddServers(6);
  SimRuntime& process = world.AddProcess("client");
  std::vector<std::byte> value;
  const int hedge_percent;
  std::unique_ptr<store::Session> session;
  std::unique_ptr<store::Store> store;
  ObjectDetail where;
};

// Invariant H1.
TEST_CASE("a late reply of one server does not slow a read") {
  const bool hedges = GENERATE(true, false);
  Fixture f(hedges ? 3 : 0);
  f.ReadMuch();
  CHECK(f.counters().hedges_sent.Get() == 0);
  f.Delay(f.WithData(), kLate);
  const Duration took = f.Get();
  if (!hedges) {
    CHECK(took > kLate);
    CHECK(f.counters().hedges_sent.Get() == 0);
    return;
  }
  CHECK(took < kSoon);
  CHECK(f.counters().hedges_sent.Get() == 1);
  CHECK(f.counters().hedges_won.Get() == 1);
  CHECK(f.counters().degraded_reads.Get() == 0);
  CHECK(f.counters().hedge_wasted_bytes.Get() == 0);
  f.Wait(kLate);
  // Its blocks came after all; no others did in vain.
  CHECK(f.counters().hedge_wasted_bytes.Get() > kValueBytes / 20 * 3);
  CHECK(f.counters().hedge_wasted_bytes.Get() < kValueBytes / 4);
}

TEST_CASE("what is late is not asked again until it has come") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(), kLate);
  f.Get();
  f.Delay(f.WithData(), {});
  for (int i = 0; i < 10; ++i) CHECK(f.Get() < milliseconds(1));
  CHECK(f.counters().hedges_at_once.Get() == 10);
  f.Wait(kLate);
  f.ReadMuch();
  CHECK(f.counters().hedges_at_once.Get() == 10);
  CHECK(f.counters().hedges_sent.Get() == 1);
}

TEST_CASE("a slow server is not waited for until it is in time again") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(), milliseconds(20));
  for (int i = 0; i < 300; ++i) f.Get();
  const std::uint64_t before = f.counters().hedges_sent.Get();
  CHECK(before <= 3);
  const Duration longest = f.LongestGet(seconds(3), milliseconds(3));
  CHECK(longest < milliseconds(1));
  CHECK(f.counters().hedges_sent.Get() == before);
  CHECK(f.counters().hedges_refused.Get() == 0);
  f.Delay(f.WithData(), {});
  for (int i = 0; i < 50; ++i) {
    f.Get();
    f.Wait(milliseconds(50));
  }
  const std::uint64_t at_once = f.counters().hedges_at_once.Get();
  f.ReadMuch();
  CHECK(f.counters().hedges_at_once.Get() == at_once);
}

TEST_CASE("a frozen server is not waited for by reads, also after its return") {
  Fixture f;
  f.ReadMuch();
  f.WithData().Stall();
  const Duration longest = f.LongestGet(seconds(4), milliseconds(5));
  CHECK(longest < kSoon);
  f.WithData().Continue();
  for (int i = 0; i < 100; ++i) {
    CHECK(f.Get() < kSoon);
    f.Wait(milliseconds(50));
  }
}

TEST_CASE("reads of servers that are in time send no hedges") {
  Fixture f;
  for (int i = 0; i < 400; ++i) f.Get();
  CHECK(f.counters().hedges_sent.Get() == 0);
  CHECK(f.counters().hedges_at_once.Get() == 0);
  CHECK(f.counters().hedges_refused.Get() == 0);
  CHECK(f.counters().hedge_wasted_bytes.Get() == 0);
}

// Invariant H2.
TEST_CASE("where what replaces a late block is damaged, that is waited for") {
  enum class Fault { kDamaged, kGone };
  const auto fault = GENERATE(Fault::kDamaged, Fault::kGone);
  Fixture f;
  f.ReadMuch();
  for (const BlockState& block : f.where.blocks) {
    if (block.kind == StoredBlockKind::kData) continue;
    SimServer& server = *f.world.FindServer(block.server);
    if (fault == Fault::kDamaged) {
      f.Damage(server);
      break;
    }
    for (const std::string& key : server.items().LiveKeys()) {
      if (key.starts_with("ers!b") && key != "ers!boot") server.Evict(key);
    }
  }
  f.Delay(f.WithData(), kLate);
  const Duration took = f.Get();
  CHECK(took > kLate);
  CHECK(f.counters().hedges_sent.Get() == 1);
  CHECK(f.counters().hedges_won.Get() == 0);
  f.Wait(2 * kLate);
  CHECK(f.counters().hedge_wasted_bytes.Get() == 0);
}

TEST_CASE("where more servers are late than parity replaces, a read waits") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(0), kLate);
  f.Delay(f.WithData(1), kLate);
  CHECK(f.Get() > kLate);
  CHECK(f.counters().hedges_won.Get() == 0);
}

// They have too much to do, or the network has.
TEST_CASE("where more servers take longer than parity replaces, none is late") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(0), milliseconds(5));
  f.Delay(f.WithData(1), milliseconds(5) + microseconds(200));
  for (int i = 0; i < 5; ++i) CHECK(f.Get() < milliseconds(6));
  CHECK(f.counters().hedges_sent.Get() == 0);
  CHECK(f.counters().hedge_wasted_bytes.Get() == 0);
  f.Delay(f.WithData(0), {});
  f.Delay(f.WithData(1), {});
  f.Get();
  CHECK(f.counters().hedges_at_once.Get() == 0);
}

TEST_CASE("once fewer are late, what is late still is replaced") {
  Fixture f;
  f.ReadMuch();
  f.WithData(0).Stall();
  f.Delay(f.WithData(1), milliseconds(10));
  const Duration took = f.Get();
  CHECK(took > milliseconds(10));
  CHECK(took < milliseconds(10) + kSoon);
}

TEST_CASE("a server that was avoided is asked if another one is later") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(0), milliseconds(20));
  for (int i = 0; i < 300; ++i) f.Get();
  f.Delay(f.WithData(1), milliseconds(300));
  const Duration took = f.Get();
  CHECK(took > milliseconds(20));
  CHECK(took < milliseconds(30));
}

// A server that was avoided is asked, and answers with damaged blocks, in the
// midst of the late blocks that its own are recovered from.
TEST_CASE("what was recovered is not written over by what comes then") {
  Fixture f(3, 200'000);
  f.ReadMuch();
  f.Delay(f.WithData(0), milliseconds(20));
  for (int i = 0; i < 300; ++i) f.Get();
  f.world.network().split_chance = 1'000'000;
  const std::uint64_t before = f.counters().hedges_sent.Get();
  for (int i = 0; i < 100; ++i) {
    f.Damage(f.WithData(0));
    f.Delay(f.WithData(1), milliseconds(21) + microseconds(i % 50 * 10));
    f.Get();
    f.Delay(f.WithData(1), {});
    f.Wait(milliseconds(50));
    f.Get();
  }
  CHECK(f.counters().hedges_sent.Get() > before + 60);
}

// Invariant H3.
TEST_CASE("a reply that comes when nothing waits for it is written nowhere") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(), kLate);
  Value got;
  REQUIRE(net::SyncWait(f.process, f.store->Get("k", got)).has_value());
  std::ranges::fill(std::span(got.data(), got.size()), std::byte{7});
  f.Wait(2 * kLate);
  REQUIRE(f.counters().hedge_wasted_bytes.Get() > 0);
  CHECK(std::ranges::count(got.bytes(), std::byte{7}) ==
        static_cast<std::ptrdiff_t>(got.size()));
}

TEST_CASE("a session ends while late replies are under way") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(), kLate);
  f.Get();
  f.store.reset();
  f.session.reset();
  f.Wait(2 * kLate);
}

// Every read of one block of a slow server takes four others in its place.
// Invariant H4.
TEST_CASE("what hedges read in vain has a limit") {
  constexpr std::size_t kLong = std::size_t{8} << 20;
  constexpr int kReads = 60;
  Fixture f(/*hedge_percent=*/1, kLong);
  const std::size_t block = kLong / 20;
  const std::uint64_t offset = f.OffsetOn(f.WithData());
  const auto read = [&] {
    Value got;
    const TimePoint begun = f.process.Now();
    REQUIRE(net::SyncWait(f.process, f.store->GetRange("k", offset, 100, got))
                .has_value());
    return f.process.Now() - begun;
  };
  for (int i = 0; i < 50; ++i) read();
  f.Delay(f.WithData(), milliseconds(200));
  const std::uint64_t before = f.Received();
  int waited = 0;
  for (int i = 0; i < kReads; ++i) {
    if (read() > milliseconds(200)) ++waited;
  }
  CHECK(waited > 0);
  CHECK(waited < kReads);
  CHECK(f.counters().hedges_refused.Get() > 0);
  f.Wait(seconds(1));
  const std::uint64_t all = f.Received() - before;
  CHECK(all < kReads * block + store::HedgeBudget::kMost +
                  all * store::HedgeBudget::kMoreWhereAlone / 100 + 2 * block);
}

TEST_CASE("ranges, streams and transitions do not wait for a late server") {
  Fixture f;
  f.ReadMuch();
  const TimePoint begun = f.process.Now();
  SECTION("range") {
    f.Delay(f.WithData(), kLate);
    Value got;
    const std::uint64_t offset = f.OffsetOn(f.WithData());
    REQUIRE(net::SyncWait(f.process, f.store->GetRange("k", offset, 100, got)));
    CHECK(std::ranges::equal(got.bytes(),
                             std::span(f.value).subspan(offset, 100)));
  }
  SECTION("stream") {
    f.Delay(f.WithData(), kLate);
    std::vector<std::byte> got;
    const store::StreamBegin none = [](const GetInfo&) {};
    const Sink sink = [&got](std::span<const std::byte> bytes) {
      got.insert(got.end(), bytes.begin(), bytes.end());
      return Status();
    };
    REQUIRE(net::SyncWait(f.process, f.store->GetTo("k", none, sink)));
    CHECK(got == f.value);
  }
  SECTION("transition") {
    f.Delay(f.WithData(), kLate);
    TransitionTarget wide;
    wide.width = Width::kWide;
    REQUIRE(net::SyncWait(
        f.process,
        f.store->Transition("k", wide, TransitionVariant::kOptimal)));
  }
  CHECK(f.process.Now() - begun < 2 * kSoon);
  CHECK(f.counters().hedges_won.Get() > 0);
  f.Wait(2 * kLate);
  f.Delay(f.WithData(), {});
  f.Wait(seconds(1));
  CHECK(f.Get() < kSoon);
}

TEST_CASE(
    "a change that asks for little ahead does not wait for what is late") {
  Fixture f(3, 600'000);
  f.ReadMuch();
  f.session->link_speed().Learn({1e6, microseconds(200)}, f.process.Now());
  f.Delay(f.WithData(), 4 * kLate);
  TransitionTarget wide;
  wide.width = Width::kWide;
  const TimePoint begun = f.process.Now();
  REQUIRE(net::SyncWait(
      f.process, f.store->Transition("k", wide, TransitionVariant::kOptimal)));
  CHECK(f.process.Now() - begun < kLate);
}

// The parity that it wrote is right, whichever plan made it.
TEST_CASE("a transition that was hedged leaves right parity") {
  Fixture f;
  f.ReadMuch();
  f.Delay(f.WithData(), kLate);
  TransitionTarget wide;
  wide.width = Width::kWide;
  REQUIRE(net::SyncWait(
      f.process, f.store->Transition("k", wide, TransitionVariant::kOptimal)));
  REQUIRE(f.counters().hedges_won.Get() > 0);
  f.WithData(1).Crash();
  Value got;
  REQUIRE(net::SyncWait(f.process, f.store->Get("k", got)).has_value());
  CHECK(std::ranges::equal(got.bytes(), f.value));
}

// --- Manifests --------------------------------------------------------------

constexpr std::size_t kInManifest = 100;

TEST_CASE("a late reply of the primary does not slow a read") {
  const bool hedges = GENERATE(true, false);
  const std::size_t bytes = GENERATE(kInManifest, kValueBytes);
  Fixture f(hedges ? 3 : 0, bytes);
  f.ReadMuch();
  CHECK(f.counters().hedges_sent.Get() == 0);
  f.Delay(f.Primary(), kLate);
  const Duration took = f.Get();
  if (!hedges) {
    CHECK(took > kLate);
    return;
  }
  CHECK(took < kSoon);
  CHECK(f.counters().hedges_won.Get() > 0);
  f.Wait(2 * kLate);
  f.Delay(f.Primary(), {});
  CHECK(f.Get() < milliseconds(1));
}

// Invariant H4.
TEST_CASE("a hedge of a manifest is charged with the value in it") {
  constexpr std::size_t kLong = 500'000;
  Fixture f(3, kInManifest);
  store::Store store(*f.session, ClientOptions{.inline_below = 2 * kLong});
  f.value.assign(kLong, std::byte{7});
  REQUIRE(net::SyncWait(f.process, store.Put("k", f.value, {})).has_value());
  f.ReadMuch();
  f.Delay(f.Primary(), kLate);
  CHECK(f.Get() < kLate);
  REQUIRE(f.counters().hedges_sent.Get() == 1);
  CHECK_FALSE(
      f.session->hedge_budget().Spend(store::HedgeBudget::kMost - kLong / 2));
}

TEST_CASE("a slow primary is not waited for until it is in time again") {
  const bool frozen = GENERATE(true, false);
  Fixture f(3, kInManifest);
  f.ReadMuch();
  SimServer& primary = f.Primary();
  if (frozen) {
    primary.Stall();
  } else {
    f.Delay(primary, milliseconds(20));
  }
  const Duration longest = f.LongestGet(seconds(4), milliseconds(3));
  CHECK(longest < kSoon);
  CHECK(f.counters().hedges_sent.Get() <= 3);
  CHECK(f.counters().hedges_at_once.Get() > 100);
  if (frozen) primary.Continue();
  f.Delay(primary, {});
  for (int i = 0; i < 100; ++i) {
    CHECK(f.Get() < kSoon);
    f.Wait(milliseconds(50));
  }
  const std::uint64_t at_once = f.counters().hedges_at_once.Get();
  f.ReadMuch();
  CHECK(f.counters().hedges_at_once.Get() == at_once);
}

// With another server out as well, the view stays as it is.
TEST_CASE("a slow primary is waited for where the other replica is dead") {
  Fixture f(3, kInManifest);
  f.ReadMuch();
  SimServer& primary = f.Primary();
  f.Delay(primary, milliseconds(20));
  f.LongestGet(seconds(1), milliseconds(3));
  REQUIRE(f.counters().hedges_at_once.Get() > 100);
  int dead = 0;
  for (const std::string& replica : f.where.replicas) {
    SimServer& server = *f.world.FindServer(replica);
    if (&server == &primary) continue;
    server.Crash();
    ++dead;
  }
  f.WithNothing().Crash();
  REQUIRE(dead == 1);
  f.Wait(seconds(1));
  for (int i = 0; i < 20; ++i) {
    f.Get();
    f.Wait(milliseconds(50));
  }
}

// Invariant H1.
TEST_CASE("another replica's word is not enough for a change that is new") {
  Fixture f(3, kInManifest);
  SimRuntime& other = f.world.AddProcess("reader");
  const auto session = f.NewSession(other, "reader");
  store::Store store(*session, ClientOptions{});
  const auto get = [&] {
    Value got;
    const TimePoint begun = other.Now();
    REQUIRE(net::SyncWait(other, store.Get("k", got)).has_value());
    REQUIRE(std::ranges::equal(got.bytes(), f.value));
    return other.Now() - begun;
  };
  // Heartbeats show how long the other servers take.
  for (int i = 0; i < 100; ++i) {
    get();
    f.Wait(milliseconds(20));
  }
  f.value.front() ^= std::byte{1};
  REQUIRE(net::SyncWait(f.process, f.store->Put("k", f.value, {})).has_value());
  f.Delay(f.Primary(), kLate);
  CHECK(get() > kLate);
  CHECK(session->counters().hedges_sent.Get() == 1);
  CHECK(session->counters().hedges_won.Get() == 0);
  f.Wait(2 * kLate);
  CHECK(get() < kSoon);
}

TEST_CASE("a session ends while a late manifest is under way") {
  Fixture f(3, kInManifest);
  f.ReadMuch();
  f.Delay(f.Primary(), kLate);
  f.Get();
  f.store.reset();
  f.session.reset();
  f.Wait(2 * kLate);
}

}  // namespace
}  // namespace ers::sim
