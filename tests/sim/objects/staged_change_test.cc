// Changes that are staged while a server is away, and committed when it is back
// and in sync: only they know what it lacks.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/backfill.h"
#include "store/upkeep/verify.h"

namespace ers::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// No more than the scheme needs: what is for one that is out is left out.
constexpr int kServers = 6;
constexpr std::size_t kBytes = 40'000;
constexpr int kAway = 2;

std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
  ClusterOptions options;
  options.servers = servers;
  options.max_failures = 1;
  return store::OpenClusterState(options).value();
}

// The first half of the value is there, the other comes when a test lets it.
class HalvedContent final : public store::Content {
 public:
  HalvedContent(net::Runtime& runtime, std::span<const std::byte> bytes)
      : bytes_(bytes), rest_(runtime, 1) {}

  Result<std::span<const std::byte>> Open(std::size_t most) override {
    opened_ = std::min(most, bytes_.size());
    return bytes_.first(opened_);
  }
  net::Task<Result<std::size_t>> Fill() override {
    if (std::exchange(filled_, true)) co_await rest_;
    co_return rest_.count() > 0 ? opened_ / 2 : opened_;
  }
  void Release() override {}
  [[nodiscard]] std::optional<std::uint64_t> Left() const override {
    return bytes_.size() - opened_;
  }
  void GiveRest() { rest_.CountDown(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t opened_ = 0;
  bool filled_ = false;
  net::Latch rest_;
};

struct Fixture {
  Fixture() {
    options.width = Width::kWide;
    REQUIRE(Put("first").ok());
  }

  Status Put(const std::string& key) {
    const auto bytes = std::as_bytes(std::span(value));
    const auto done = net::SyncWait(process, store.Put(key, bytes, options));
    return done ? Status() : done.error();
  }
  void Pass(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  net::Task<void> PutSlowly() {
    const store::PutTerms terms;
    put = co_await store.PutContent("key", content, options, terms);
  }
  void BeginPut() {
    net::Spawn(PutSlowly());
    Pass(milliseconds(100));
    REQUIRE_FALSE(put);
  }
  void EndPut() {
    content.GiveRest();
    REQUIRE(world.RunUntil([this] { return put.has_value(); }, minutes(5)));
  }
  MemberState StateOf(int member) {
    return session.view()->members[static_cast<std::size_t>(member)].state;
  }
  // It dies, and the others know.
  void Lose(int member) {
    server(member).Crash();
    for (int i = 0; StateOf(member) != MemberState::kDown; ++i) {
      REQUIRE(i < 100);
      (void)Put(fmt::format("other{}", i));
    }
  }
  void BringBack(int member) {
    server(member).Restart();
    Pass(seconds(1));
    const store::BackfillTerms terms;
    REQUIRE(net::SyncWait(process, store::Backfill(session, {member}, terms))
                .has_value());
    REQUIRE(StateOf(member) == MemberState::kInSync);
  }
  SimServer& server(int member) {
    return *world.servers()[static_cast<std::size_t>(member)];
  }
  // What any object lacks.
  std::string Lacking() {
    std::string lacking;
    VerifyOptions all;
    all.found = [&lacking](const Finding& finding) {
      lacking += fmt::format("{}: {} {} of group {} on {}\n", finding.key,
                             FaultName(finding.fault), finding.block,
                             finding.group, finding.server);
    };
    store::Verifier verifier(session, all);
    const auto report = net::SyncWait(process, verifier.Run());
    REQUIRE(report.has_value());
    REQUIRE(report->unchecked == 0);
    return lacking;
  }

  World world{1};
  SimRuntime& process = world.AddProcess("client");
  store::Session session{process, Open(world.AddServers(kServers)), 16};
  store::Store store{
      session, {.scheme = {SchemeKind::kErs2, 4, 1, 5}, .inline_below = 0}};
  const std::string value = std::string(kBytes, 'v');
  PutOptions options;
  HalvedContent content{process, std::as_bytes(std::span(value))};
  std::optional<Result<ObjectInfo>> put;
};

// Invariant C3.
TEST_CASE("what a change left out is stored when its server is back") {
  Fixture f;
  f.Lose(kAway);
  f.BeginPut();
  f.BringBack(kAway);
  f.EndPut();
  REQUIRE(f.put->has_value());
  // Nor has it to be backfilled once more.
  CHECK(f.StateOf(kAway) == MemberState::kInSync);
  CHECK(f.Lacking() == "");
}

TEST_CASE("what a server lost of a change under way is stored once more") {
  Fixture f;
  f.BeginPut();
  f.Lose(kAway);
  f.BringBack(kAway);
  f.EndPut();
  REQUIRE(f.put->has_value());
  CHECK(f.Lacking() == "");
}

TEST_CASE("a server may die again at any moment of that") {
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    Fixture f;
    f.Lose(kAway);
    f.BeginPut();
    f.BringBack(kAway);
    f.world.After(microseconds(40) * i, [&f] { f.server(kAway).Crash(); });
    f.EndPut();
    REQUIRE(f.put->has_value());
    f.Pass(seconds(1));
    f.Lose(kAway);
    f.BringBack(kAway);
    CHECK(f.Lacking() == "");
  }
}

TEST_CASE("a change that a flush overtakes takes place behind it") {
  Fixture f;
  f.BeginPut();
  const auto now = static_cast<std::uint64_t>(f.process.WallMicros());
  REQUIRE(net::SyncWait(f.process, f.store.Flush(now)).ok());
  f.EndPut();
  REQUIRE(f.put->has_value());
  Value value;
  REQUIRE(net::SyncWait(f.process, f.store.Get("key", value)).has_value());
  CHECK(value.size() == f.value.size());
  CHECK(net::SyncWait(f.process, f.store.Get("first", value)).error().code() ==
        StatusCode::kNotFound);
  CHECK(f.Lacking() == "");
}

// Invariant C8.
// Beyond f it cannot leave, and is not backfilled.
TEST_CASE("no change leaves out a server that stays in the view") {
  Fixture f;
  // On four of the servers: many are on the one, and not on the other.
  f.options.scheme = {SchemeKind::kErs2, 2, 1, 3};
  for (int i = 0; i < 20; ++i) REQUIRE(f.Put(fmt::format("key{}", i)).ok());
  f.Lose(1);
  f.server(kAway).SetReachable(false);
  const auto bytes = std::as_bytes(std::span(f.value));
  for (int i = 0; i < 20; ++i) {
    (void)net::SyncWait(f.process,
                        f.store.Update(fmt::format("key{}", i), 0, bytes));
  }
  f.server(kAway).SetReachable(true);
  f.Pass(seconds(2));
  CHECK(f.StateOf(kAway) == MemberState::kInSync);
  f.BringBack(1);
  CHECK(f.Lacking() == "");
}

}  // namespace
}  // namespace ers::sim
