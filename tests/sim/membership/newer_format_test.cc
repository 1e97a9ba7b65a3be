// Records on the servers that a newer version of the library wrote: a process
// that does not know their format stops, and leaves them as they are.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/format/record.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::seconds;

constexpr int kHolder = 4;  // of the newer record

struct Fixture {
  Fixture() { REQUIRE(one.Put().ok()); }
  // A record that only a newer version can read takes the place of `key` on
  // one server.
  void Upgrade(std::string_view key) {
    ModelItem item;
    newer = store::SealRecord({{"epoch", 9}, {"elsewhere", "?"}}, 1000);
    item.value = newer;
    upgraded = key;
    holder().items().Put(key, std::move(item));
  }
  SimServer& holder() { return *world.servers()[kHolder]; }
  // It names the server, and what to do, and the record is there still.
  void CheckStopped(const Status& status) {
    CAPTURE(status.message());
    CHECK(status.code() == StatusCode::kUnsupportedFormat);
    CHECK(status.message().find(holder().name()) != std::string_view::npos);
    CHECK(status.message().find("upgrade") != std::string_view::npos);
    CHECK(holder().items().Find(upgraded)->value == newer);
  }
  void Wait(net::Duration time) {
    world.RunUntil([] { return false; }, time);
  }

  World world{7};
  const std::string servers = world.AddServers(6);
  SimClient one{world, servers, "one"};
  std::string newer;
  std::string upgraded;
};

TEST_CASE("a change of the view stops at a record of a newer format") {
  Fixture f;
  f.Upgrade(store::kViewKey);
  const std::uint64_t epoch = f.one.session.view()->epoch;
  f.CheckStopped(f.one.MarkDown(0));
  CHECK(f.one.session.view()->epoch == epoch);
}

TEST_CASE("so it does where a server that is backfilled has it") {
  Fixture f;
  REQUIRE(f.one.MarkDown(kHolder).ok());
  const Status begun = net::SyncWait(
      f.one.process, store::BeginBackfill(f.one.session, kHolder));
  REQUIRE(begun.ok());
  f.Upgrade(store::kViewKey);
  const std::uint64_t incarnation =
      f.one.session.view()->members[kHolder].incarnation;
  f.CheckStopped(net::SyncWait(
      f.one.process,
      store::FlushBefore(f.one.session,
                         static_cast<std::uint64_t>(f.world.WallMicros()))));
  CHECK(f.one.session.view()->members[kHolder].incarnation == incarnation);
}

TEST_CASE("a process that comes, or comes back, stops at a newer view record") {
  Fixture f;
  f.Upgrade(store::kViewKey);
  // Its lease runs out meanwhile.
  f.Wait(seconds(10));
  f.CheckStopped(f.one.Put());
  SimClient other(f.world, f.servers, "other");
  f.CheckStopped(other.Put());
  f.CheckStopped(other.Put());
}

TEST_CASE("so it does at a newer record of peers") {
  Fixture f;
  f.Upgrade(store::kParticipantsKey);
  f.CheckStopped(f.one.MarkDown(0));
  f.Wait(seconds(10));
  f.CheckStopped(f.one.Put());
  {
    SimClient other(f.world, f.servers, "other");
    f.CheckStopped(other.Put());
  }
  // Nor does one that ends take its line out.
  CHECK(f.holder().items().Find(store::kParticipantsKey)->value == f.newer);
}

}  // namespace
}  // namespace ers::sim
