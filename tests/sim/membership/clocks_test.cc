// Processes and servers whose clocks differ, step or stand still.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/micros.h"
#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/upkeep/garbage.h"

namespace ers::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Clocked : SimClient {
  Clocked(World& world, const std::string& servers, const std::string& name,
          Duration wrong)
      : SimClient(world, servers, name) {
    process.set_wall_skew(wrong);
    REQUIRE(Begin().ok());
  }
  void PutFor(std::int64_t lifetime) {
    PutOptions options;
    options.expiry = session.WallMicros() / kMicrosPerSecond + lifetime;
    constexpr std::string_view kValue = "a value";
    REQUIRE(net::SyncWait(
        process, store.Put("key", std::as_bytes(std::span(kValue)), options)));
  }
  bool Has() {
    Value value;
    const auto got = net::SyncWait(process, store.Get("key", value));
    if (!got) REQUIRE(got.error().code() == StatusCode::kNotFound);
    return got.has_value();
  }
  Status Flush(std::uint64_t at = store::kAtOnce) {
    return net::SyncWait(process, store.Flush(at));
  }
};

struct Fixture {
  explicit Fixture(Duration wrong_server = {}) {
    for (int i = 0; i < 5; ++i) {
      ModelServerOptions options;
      if (i == 0) {
        options.clock_ahead = std::chrono::duration_cast<seconds>(wrong_server);
      }
      const std::string name = "10.0.0." + std::to_string(i) + ":11211";
      world.AddServer(name, options);
      servers += (servers.empty() ? "" : ",") + name;
    }
  }
  void Wait(Duration time) {
    world.RunUntil([] { return false; }, time);
  }

  World world{7};
  std::string servers;
};

// Invariant V7.
TEST_CASE("what expires does so for all at the time that it was given") {
  const Duration wrong = GENERATE(Duration(-hours(1)), Duration(-seconds(40)),
                                  Duration(seconds(40)), Duration(hours(1)));
  const Duration server = GENERATE(Duration(-hours(1)), Duration(hours(1)));
  CAPTURE(wrong.count(), server.count());
  Fixture f(server);
  Clocked one(f.world, f.servers, "one", {});
  Clocked other(f.world, f.servers, "other", wrong);
  for (Clocked* by : {&one, &other}) {
    by->PutFor(30);
    CHECK(one.Has());
    CHECK(other.Has());
    f.Wait(seconds(27));
    CHECK(one.Has());
    CHECK(other.Has());
    f.Wait(seconds(5));
    CHECK_FALSE(one.Has());
    CHECK_FALSE(other.Has());
  }
}

TEST_CASE("a step of a clock neither ends nor revives anything") {
  const Duration step = GENERATE(Duration(-hours(1)), Duration(hours(1)));
  CAPTURE(step.count());
  Fixture f;
  Clocked one(f.world, f.servers, "one", {});
  one.PutFor(30);
  one.process.set_wall_skew(step);
  f.Wait(seconds(10));
  CHECK(one.Has());
  f.Wait(seconds(21));
  CHECK_FALSE(one.Has());
  one.process.set_wall_skew(-step);
  CHECK_FALSE(one.Has());
  one.PutFor(30);
  REQUIRE(one.Flush().ok());
  one.process.set_wall_skew(step);
  f.Wait(seconds(5));
  CHECK_FALSE(one.Has());
}

// Invariant V8.
TEST_CASE("a flush takes what was stored before it, and nothing else") {
  // Little enough for servers that show whole seconds.
  const Duration ahead = GENERATE(Duration(milliseconds(1500)), Duration{});
  const Duration behind = milliseconds(1500) - ahead;
  Fixture f;
  f.Wait(milliseconds(10));
  Clocked one(f.world, f.servers, "one", ahead);
  Clocked other(f.world, f.servers, "other", behind);
  one.PutFor(100);
  REQUIRE(other.Flush().ok());
  CHECK_FALSE(one.Has());
  CHECK_FALSE(other.Has());
  one.PutFor(100);
  CHECK(one.Has());
  CHECK(other.Has());
  f.Wait(seconds(3));
  CHECK(one.Has());
  CHECK(other.Has());
  REQUIRE(one.Flush().ok());
  CHECK_FALSE(other.Has());
  other.PutFor(100);
  CHECK(one.Has());
}

TEST_CASE("a flush that is to come does so behind one at once") {
  Fixture f;
  Clocked one(f.world, f.servers, "one", hours(1));
  const auto in_ten = static_cast<std::uint64_t>(one.session.WallMicros() +
                                                 10 * kMicrosPerSecond);
  REQUIRE(one.Flush(in_ten).ok());
  one.PutFor(100);
  REQUIRE(one.Flush().ok());
  CHECK_FALSE(one.Has());
  one.PutFor(100);
  f.Wait(seconds(8));
  CHECK(one.Has());
  f.Wait(seconds(3));
  CHECK_FALSE(one.Has());
  one.PutFor(100);
  REQUIRE(one.Flush().ok());
  one.PutFor(100);
  f.Wait(seconds(8));
  CHECK(one.Has());
}

// Invariant G2.
TEST_CASE("a collector whose clock is ahead leaves changes under way alone") {
  Fixture f;
  Clocked one(f.world, f.servers, "one", {});
  Clocked other(f.world, f.servers, "other", hours(20));
  const std::string value(5000, 'v');
  const auto put = net::SyncWait(
      one.process, one.store.Put("key", std::as_bytes(std::span(value)), {}));
  REQUIRE(put);
  const auto report =
      net::SyncWait(other.process, store::CollectGarbage(other.session, {}));
  REQUIRE(report);
  CHECK(report->young > 0);
  CHECK(report->dropped == 0);
}

// Invariant V7.
TEST_CASE("ids rise under any clock") {
  Fixture f;
  Clocked one(f.world, f.servers, "one", hours(1));
  store::ChangeId last;
  for (int i = 0; i < 20; ++i) {
    one.process.set_wall_skew(i % 2 == 0 ? -hours(1) : hours(1));
    const store::ChangeId next = one.session.NewChangeId();
    CHECK(next.time_us > last.time_us);
    last = next;
    if (i == 10) REQUIRE(one.Flush().ok());
    one.PutFor(100);
    f.Wait(milliseconds(700));
  }
  CHECK(last.flush_mark() == 1);
}

}  // namespace
}  // namespace ers::sim
