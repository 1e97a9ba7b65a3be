// Members that are backfilled while clients write.
#include "store/upkeep/backfill.h"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

constexpr int kServers = 6;
// Each with a key of its own: some are always in the midst of a change.
constexpr int kWriters = 48;
constexpr int kColdKeys = 1000;
constexpr std::size_t kBytes = 900;

struct Fixture {
  Fixture()
      : store(session,
              {.scheme = {SchemeKind::kErs2, 2, 1, 3}, .inline_below = 0}) {
    value.fill(std::byte{7});
  }

  net::Task<Status> Put(std::string key) {
    const PutOptions options;
    const Result<ObjectInfo> put = co_await store.Put(key, value, options);
    if (!put) co_return put.error();
    co_return Status();
  }
  net::Task<void> WriteOn(int writer) {
    const std::string key = fmt::format("hot{}", writer);
    while (!stop) {
      (void)co_await Put(key);
      ++writes;
    }
    --running;
  }

  std::shared_ptr<store::ClusterState> Open() {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 1;
    options.log = [this](LogLevel level, std::string_view line) {
      if (level == LogLevel::kWarning) warnings.emplace_back(line);
    };
    return store::OpenClusterState(options).value();
  }

  std::vector<std::string> warnings;
  World world{1};
  const std::string servers = world.AddServers(kServers);
  SimRuntime& process = world.AddProcess("client");
  const std::shared_ptr<store::ClusterState> cluster = Open();
  store::Session session{process, cluster, 16};
  store::Store store;
  std::array<std::byte, kBytes> value;
  bool stop = false;
  int running = kWriters;
  int writes = 0;
};

// Invariant R3.
TEST_CASE("a member gets in sync though clients write all the time") {
  Fixture f;
  for (int i = 0; i < kColdKeys; ++i)
    REQUIRE(net::SyncWait(f.process, f.Put(fmt::format("cold{}", i))).ok());
  f.world.servers()[0]->Crash();
  REQUIRE(net::SyncWait(f.process, f.Put("cold0")).ok());  // it is missed
  f.world.servers()[0]->Restart();
  for (int i = 0; i < kWriters; ++i) net::Spawn(f.WriteOn(i));
  const int before = f.writes;
  const store::BackfillTerms terms;
  const Result<store::BackfillReport> report =
      net::SyncWait(f.process, store::Backfill(f.session, {0}, terms));
  CAPTURE(report ? "" : report.error().message());
  CHECK(report.has_value());
  CHECK(f.writes - before > kWriters);
  f.stop = true;
  REQUIRE(f.world.RunUntil([&f] { return f.running == 0; },
                           std::chrono::minutes(1)));
  CHECK(f.session.view()->NotInSync() == 0);
}

TEST_CASE("what does not fit is reported, and all else is backfilled") {
  Fixture f;
  for (int i = 0; i < 40; ++i)
    REQUIRE(net::SyncWait(f.process, f.Put(fmt::format("cold{}", i))).ok());
  SimServer& server = *f.world.servers()[0];
  server.Crash();
  REQUIRE(net::SyncWait(f.process, f.Put("cold0")).ok());  // it is missed
  server.Restart();
  const std::size_t empty = server.items().size();
  // Of the first two objects.
  const auto object_of = [](std::string_view block) {
    return std::string(block.substr(0, block.find('.')));
  };
  std::set<std::string> objects;
  std::set<std::string> refused;
  const auto had_room = server.model().out_of_memory;
  server.model().out_of_memory = [&](std::string_view key) {
    const bool block = key.starts_with(store::kReservedPrefix) &&
                       key != store::kViewKey && key != store::kBootKey &&
                       key != store::kParticipantsKey &&
                       !key.starts_with(store::kEntryPrefix) &&
                       !key.starts_with(store::kSparePrefix);
    if (block && objects.size() < 2) objects.insert(object_of(key));
    const bool no_room = block && objects.contains(object_of(key));
    if (no_room) refused.emplace(key);
    return no_room;
  };
  const store::BackfillTerms terms;
  const Result<store::BackfillReport> short_of =
      net::SyncWait(f.process, store::Backfill(f.session, {0}, terms));
  REQUIRE_FALSE(short_of.has_value());
  CHECK(short_of.error().code() == StatusCode::kNoMemory);
  const std::string why(short_of.error().message());
  CAPTURE(why);
  CHECK(why.starts_with("objects that do not fit: 2; "));
  CHECK(why.find(server.name()) != std::string::npos);
  CHECK(f.session.view()->members[0].state == MemberState::kBackfilling);
  const std::size_t filled = server.items().size();
  CHECK(filled > empty + 10);

  server.model().out_of_memory = had_room;
  const Result<store::BackfillReport> report =
      net::SyncWait(f.process, store::Backfill(f.session, {0}, terms));
  REQUIRE(report.has_value());
  CHECK(report->blocks == refused.size());
  CHECK(server.items().size() == filled + refused.size());
  CHECK(f.session.view()->NotInSync() == 0);
}

TEST_CASE("a server that cannot list its keys is named, and is backfilled") {
  Fixture f;
  SimServer& server = *f.world.servers()[0];
  server.model().dump_refused = [] { return true; };
  REQUIRE(net::SyncWait(f.process, f.Put("cold0")).ok());
  REQUIRE(f.world.RunUntil([&f] { return !f.warnings.empty(); },
                           std::chrono::minutes(1)));
  CHECK(f.warnings.front().starts_with(server.name() +
                                       " cannot list its keys: "));
  server.Crash();
  REQUIRE(net::SyncWait(f.process, f.Put("cold0")).ok());  // it is missed
  server.Restart();
  // It is not in sync, and so it is silent anyway: it counts once.
  const store::BackfillTerms terms;
  const Result<store::BackfillReport> report =
      net::SyncWait(f.process, store::Backfill(f.session, {0}, terms));
  CAPTURE(report ? "" : report.error().message());
  REQUIRE(report.has_value());
  CHECK(f.session.view()->NotInSync() == 0);
}

}  // namespace
}  // namespace ers::sim
