// Objects that end: by their expiry, by a longer one, by what was under way.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/micros.h"
#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/backfill.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kValue = "a value that is cut into blocks";

struct Fixture {
  Fixture() {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = 1;
    options.request_timeout = seconds(1);
    session = std::make_unique<store::Session>(
        process, store::OpenClusterState(options, "client").value(), 16);
    store = std::make_unique<store::Store>(
        *session, ClientOptions{.scheme = {SchemeKind::kErs2, 2, 1, 3},
                                .inline_below = 0});
  }

  std::int64_t Now() const { return world.WallMicros() / kMicrosPerSecond; }
  void PutUntil(std::int64_t expiry) {
    PutOptions options;
    options.expiry = expiry;
    REQUIRE(net::SyncWait(
        process, store->Put("k", std::as_bytes(std::span(kValue)), options)));
  }
  Result<GetInfo> Get() {
    Value value;
    return net::SyncWait(process, store->Get("k", value));
  }
  void Wait(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  // How many seconds each block has left; -1: it does not end.
  std::vector<std::int64_t> BlocksLeft() const {
    std::vector<std::int64_t> left;
    for (const auto& server : world.servers()) {
      for (const std::string& key : server->items().LiveKeys()) {
        if (!key.starts_with("ers!b") || key == "ers!boot") continue;
        const ModelItem& item = *server->items().Find(key);
        left.push_back(item.expires == 0 ? -1
                                         : std::int64_t{item.expires} -
                                               server->items().Now());
      }
    }
    return left;
  }

  World world{5};
  const std::string servers = world.AddServers(5);
  SimRuntime& process = world.AddProcess("client");
  std::unique_ptr<store::Session> session;
  std::unique_ptr<store::Store> store;
};

TEST_CASE("what expires while the answer is under way is no miss") {
  Fixture f;
  f.PutUntil(f.Now() + 3);
  const TimePoint end = f.world.AtWall((f.Now() + 3) * kMicrosPerSecond);
  f.Wait(end - f.world.now() - milliseconds(40));
  REQUIRE(f.Get().has_value());
  f.Wait(end - f.world.now() - milliseconds(10));
  for (const auto& server : f.world.servers()) {
    server->faults().slow_min = milliseconds(20);
    server->faults().slow_max = milliseconds(20);
  }
  CHECK(f.Get().has_value());
  REQUIRE(f.world.now() > end);
  CHECK(f.Get().error().code() == StatusCode::kNotFound);
}

TEST_CASE("blocks live as long as an object that was given a longer life") {
  Fixture f;
  f.PutUntil(f.Now() + 10);
  REQUIRE(!f.BlocksLeft().empty());
  for (const std::int64_t left : f.BlocksLeft()) CHECK(left > 0);
  REQUIRE(net::SyncWait(f.process, f.store->Touch("k", f.Now() + 500)));
  // Whatever other touch comes late shortens nothing.
  for (const std::int64_t left : f.BlocksLeft()) CHECK(left == -1);
  f.Wait(seconds(200));
  const Result<GetInfo> info = f.Get();
  REQUIRE(info);
  CHECK(!info->degraded);
}

TEST_CASE("what has expired already is not stored, but ends what was there") {
  const bool by_touch = GENERATE(false, true);
  Fixture f;
  f.PutUntil(0);
  REQUIRE(!f.BlocksLeft().empty());
  if (by_touch) {
    REQUIRE(net::SyncWait(f.process, f.store->Touch("k", f.Now() - 1)));
  } else {
    f.PutUntil(f.Now() - 1);
  }
  CHECK(f.Get().error().code() == StatusCode::kNotFound);
  f.Wait(seconds(1));
  CHECK(f.BlocksLeft().empty());
}

TEST_CASE("a block that is put back as its object expires stays") {
  Fixture f;
  f.PutUntil(f.Now() + 3);
  const std::size_t blocks = f.BlocksLeft().size();
  const TimePoint end = f.world.AtWall((f.Now() + 3) * kMicrosPerSecond);
  bool lost = false;
  for (const auto& server : f.world.servers()) {
    for (const std::string& key : server->items().LiveKeys()) {
      if (key.ends_with(".0")) lost |= server->Evict(key);
    }
  }
  REQUIRE(lost);
  f.Wait(end - f.world.now() - milliseconds(50));
  for (const auto& server : f.world.servers()) {
    server->faults().slow_min = milliseconds(20);
    server->faults().slow_max = milliseconds(20);
  }
  const Result<GetInfo> info = f.Get();
  INFO((info ? "" : info.error().message()));
  REQUIRE(info);
  CHECK(info->repaired_blocks == 1);
  f.Wait(milliseconds(200));
  REQUIRE(f.world.now() > end);
  // A touch that began before may yet commit the manifest that names it.
  CHECK(f.BlocksLeft().size() == blocks);
}

TEST_CASE("a member that is silent at a touch leaves, and is repaired") {
  Fixture f;
  f.PutUntil(f.Now() + 10);
  std::size_t silent = 0;
  for (std::size_t i = 0; i < f.world.servers().size(); ++i) {
    for (const std::string& key : f.world.servers()[i]->items().LiveKeys()) {
      if (key.starts_with("ers!b") && key != "ers!boot") silent = i;
    }
  }
  SimServer& server = *f.world.servers()[silent];
  server.SetReachable(false);
  REQUIRE(net::SyncWait(f.process, f.store->Touch("k", 0)));
  const auto state = [&f, silent] {
    return f.session->view()->members[silent].state;
  };
  REQUIRE(state() == MemberState::kDown);
  server.SetReachable(true);
  f.Wait(seconds(3));
  const store::BackfillTerms terms;
  REQUIRE(net::SyncWait(
      f.process,
      store::Backfill(*f.session, {static_cast<int>(silent)}, terms)));
  REQUIRE(state() == MemberState::kInSync);
  f.Wait(seconds(200));
  for (const std::int64_t left : f.BlocksLeft()) CHECK(left == -1);
  const Result<GetInfo> info = f.Get();
  REQUIRE(info);
  CHECK(!info->degraded);
  CHECK(info->repaired_blocks == 0);
}

// It takes effect once it is committed, which is behind the flush and what was
// put there.
// Invariant V8.
TEST_CASE("a put that a flush overtakes is of behind the flush") {
  Fixture f;
  f.PutUntil(0);
  SimRuntime& other = f.world.AddProcess("other");
  ClusterOptions options;
  options.servers = f.servers;
  options.request_timeout = seconds(1);
  store::Session session(other,
                         store::OpenClusterState(options, "other").value(), 16);
  store::Store store(
      session, {.scheme = {SchemeKind::kErs2, 2, 1, 3}, .inline_below = 0});
  Value value;
  REQUIRE(net::SyncWait(other, store.Get("k", value)));
  // It is stopped with its put half way.
  static constexpr std::string_view kOld = "the older one of the two";
  const PutOptions put;
  Result<ObjectInfo> info = Fail(StatusCode::kCorruption, "not done");
  bool ended = false;
  net::Spawn([](store::Store& by, const PutOptions& with,
                Result<ObjectInfo>& into, bool& done) -> net::Task<void> {
    into = co_await by.Put("k", std::as_bytes(std::span(kOld)), with);
    done = true;
  }(store, put, info, ended));
  f.Wait(std::chrono::microseconds(10));
  other.PauseFor(seconds(8));
  f.Wait(milliseconds(1));
  REQUIRE(net::SyncWait(f.process, f.store->Flush(store::kAtOnce)).ok());
  CHECK(f.Get().error().code() == StatusCode::kNotFound);
  f.PutUntil(0);
  REQUIRE(f.world.RunUntil([&ended] { return ended; }, seconds(60)));
  REQUIRE(info.has_value());
  REQUIRE(net::SyncWait(f.process, f.store->Get("k", value)));
  CHECK(value.text() == kOld);
}

TEST_CASE("a flush that some servers took may yet take effect, and says so") {
  Fixture f;
  f.PutUntil(0);
  for (std::size_t i = 0; i < 4; ++i) f.world.servers()[i]->Stall();
  const Status status =
      net::SyncWait(f.process, f.store->Flush(store::kAtOnce));
  CHECK(status.code() == StatusCode::kOutcomeUnknown);
}

}  // namespace
}  // namespace ers::sim
