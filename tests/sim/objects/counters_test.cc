// What a session counts of changes, by how they ended.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/manifest.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::microseconds;

constexpr int kServers = 4;

// One client process.
struct Client {
  Client(World& world, const std::string& name, const std::string& servers,
         std::size_t inline_below)
      : process(world.AddProcess(name)),
        session(process, Open(servers), 16),
        store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3},
                        .inline_below = inline_below}) {}

  static std::shared_ptr<store::ClusterState> Open(const std::string& servers) {
    ClusterOptions options;
    options.servers = servers;
    return store::OpenClusterState(options).value();
  }
  net::Task<Result<ObjectInfo>> StartPut(std::string_view value) {
    return store.Put("k", std::as_bytes(std::span(value)), put_options);
  }
  StatusCode Put(std::string_view value) {
    return CodeOf(net::SyncWait(process, StartPut(value)));
  }
  StatusCode Touch(std::int64_t expiry) {
    return CodeOf(net::SyncWait(process, store.Touch("k", expiry)));
  }
  static StatusCode CodeOf(const Result<ObjectInfo>& result) {
    return result ? StatusCode::kOk : result.error().code();
  }

  SimRuntime& process;
  store::Session session;
  store::Store store;
  const PutOptions put_options;  // outlives the tasks
};

// How many changes ended in each way.
struct Ends {
  explicit Ends(Client& client) {
    const store::StoreCounters& counters = client.session.counters();
    commits = counters.commits.Get();
    rivals = counters.aborts_by_rival.Get();
    views = counters.aborts_by_view.Get();
    restarts = counters.aborts_by_restart.Get();
    refused = counters.aborts_by_check.Get();
    failures = counters.aborts_by_failure.Get();
    unknown = counters.commits_unknown.Get();
  }
  Ends() = default;
  bool operator==(const Ends&) const = default;

  std::uint64_t commits = 0;
  std::uint64_t rivals = 0;
  std::uint64_t views = 0;
  std::uint64_t restarts = 0;
  std::uint64_t refused = 0;
  std::uint64_t failures = 0;
  std::uint64_t unknown = 0;
};

std::ostream& operator<<(std::ostream& out, const Ends& ends) {
  return out << fmt::format(
             "{} commits, {} rivals, {} views, {} restarts, {} refused, "
             "{} failures, {} unknown",
             ends.commits, ends.rivals, ends.views, ends.restarts, ends.refused,
             ends.failures, ends.unknown);
}

constexpr std::size_t kInBlocks = 0;       // and so remembered
constexpr std::size_t kInManifest = 4096;  // nothing is staged

struct Fixture {
  explicit Fixture(std::size_t below) : inline_below(below) {}

  const std::size_t inline_below;
  World world{1};
  const std::string servers = world.AddServers(kServers);
  Client a{world, "a", servers, inline_below};
  Client b{world, "b", servers, inline_below};
};

TEST_CASE("a change planned on an old object counts as begun anew") {
  Fixture f(kInBlocks);
  REQUIRE(f.a.Put("old") == StatusCode::kOk);
  REQUIRE(f.b.Put("new") == StatusCode::kOk);
  Ends expected(f.a);
  REQUIRE(f.a.Touch(0) == StatusCode::kOk);  // nothing to change
  CHECK(Ends(f.a) == expected);

  REQUIRE(f.b.Put("newer") == StatusCode::kOk);
  REQUIRE(f.a.Touch(f.a.process.WallMicros() / 1'000'000 + 100) ==
          StatusCode::kOk);
  ++expected.restarts;
  ++expected.commits;
  CHECK(Ends(f.a) == expected);
}

// Copies of two tries must not pass for those of one change.
// Invariant C1.
TEST_CASE("a change that a rival has refused is tried under another id") {
  Fixture f(kInManifest);
  REQUIRE(f.a.Put("1") == StatusCode::kOk);
  REQUIRE(f.b.Put("2") == StatusCode::kOk);
  const std::uint64_t rivals = Ends(f.a).rivals + Ends(f.b).rivals;
  std::set<store::ChangeId> tried;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&](const SimConnection&,
                             const AppliedCommand& command) {
      if (command.verb != "cas" || command.key != "k") return;
      const Result<store::Manifest> manifest =
          store::DecodeManifest(command.key, command.value);
      if (manifest) tried.insert(manifest->id);
    };
  }
  int running = 2;
  const auto put = [&](Client& client) -> net::Task<void> {
    const Result<ObjectInfo> stored = co_await client.StartPut("3");
    CHECK(stored.has_value());
    --running;
  };
  net::Spawn(put(f.a));
  net::Spawn(put(f.b));
  REQUIRE(
      f.world.RunUntil([&] { return running == 0; }, std::chrono::seconds(9)));
  for (const auto& server : f.world.servers()) server->on_applied = nullptr;
  const std::uint64_t more = Ends(f.a).rivals + Ends(f.b).rivals - rivals;
  CHECK(more > 0);
  CHECK(tried.size() == 2 + more);
}

TEST_CASE("of two changes at once the later one counts a rival") {
  Fixture f(kInBlocks);
  REQUIRE(f.a.Put("1") == StatusCode::kOk);
  REQUIRE(f.b.Put("2") == StatusCode::kOk);
  const Ends before_a(f.a);
  const Ends before_b(f.b);
  // Both have read the object before either writes.
  int running = 2;
  const auto put = [&](Client& client) -> net::Task<void> {
    const Result<ObjectInfo> stored = co_await client.StartPut("3");
    CHECK(stored.has_value());
    --running;
  };
  net::Spawn(put(f.a));
  net::Spawn(put(f.b));
  REQUIRE(
      f.world.RunUntil([&] { return running == 0; }, std::chrono::seconds(9)));
  const Ends a(f.a);
  const Ends b(f.b);
  CHECK(a.commits - before_a.commits == 1);
  CHECK(b.commits - before_b.commits == 1);
  CHECK(a.rivals - before_a.rivals + b.rivals - before_b.rivals == 1);
  CHECK(a.failures + b.failures + a.unknown + b.unknown == 0);
}

TEST_CASE("a change that has to leave a dead server behind counts no rival") {
  int left_behind = 0;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    Fixture f(kInManifest);
    REQUIRE(f.a.Put("old") == StatusCode::kOk);
    const std::uint64_t epoch = f.a.session.view()->epoch;
    f.world.After(microseconds(10) * i,
                  [&f, i] { f.world.servers()[i % kServers]->Crash(); });
    REQUIRE(f.a.Put("new") == StatusCode::kOk);
    left_behind += f.a.session.view()->epoch > epoch ? 1 : 0;
    REQUIRE(Ends(f.a).rivals == 0);
  }
  CHECK(left_behind > 0);
}

TEST_CASE("a full server's refusal counts as a failure") {
  Fixture f(kInManifest);
  REQUIRE(f.a.Put("old") == StatusCode::kOk);
  Ends expected(f.a);
  for (const auto& server : f.world.servers()) {
    server->faults().out_of_memory_chance = 1'000'000;
  }
  CHECK(f.a.Put("new") == StatusCode::kNoMemory);
  ++expected.failures;
  CHECK(Ends(f.a) == expected);
}

TEST_CASE("servers that are gone before the commit count as a failure") {
  Fixture f(kInBlocks);
  REQUIRE(f.a.Put("old") == StatusCode::kOk);
  Ends expected(f.a);
  for (const auto& server : f.world.servers()) server->Crash();
  CHECK(f.a.Touch(f.a.process.WallMicros() / 1'000'000 + 100) ==
        StatusCode::kUnavailable);
  ++expected.failures;
  CHECK(Ends(f.a) == expected);
}

TEST_CASE("a change that is cut off counts as what it is reported to be") {
  Ends all;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    Fixture f(kInManifest);
    REQUIRE(f.a.Put("old") == StatusCode::kOk);
    Ends expected(f.a);
    f.world.After(microseconds(10) * i, [&f] {
      for (const auto& server : f.world.servers()) server->SetReachable(false);
    });
    const StatusCode code = f.a.Put("new");
    if (code == StatusCode::kOk) {
      ++expected.commits;
      ++all.commits;
    } else if (code == StatusCode::kOutcomeUnknown) {
      ++expected.unknown;
      ++all.unknown;
    } else {
      ++expected.failures;
      ++all.failures;
    }
    REQUIRE(Ends(f.a) == expected);
  }
  CHECK(all.commits > 0);
  CHECK(all.failures > 0);
  CHECK(all.unknown > 0);
}

}  // namespace
}  // namespace ers::sim
