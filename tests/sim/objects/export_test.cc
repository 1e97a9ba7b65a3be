// Objects that become plain items, and what happens in the middle of that.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/micros.h"
#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

constexpr int kServers = 6;
constexpr int kMaxFailures =
    2;  // so that there is a replica between the outer ones
constexpr std::uint64_t kItemLimit = 4096;
constexpr std::uint32_t kFlags = 9;

std::shared_ptr<store::ClusterState> OpenCluster(bool adopt) {
  ClusterOptions options;
  options.max_failures = kMaxFailures;
  options.adopt_plain_items = adopt;
  for (int i = 0; i < kServers; ++i) {
    options.servers += fmt::format("{}10.0.0.{}:11211", i > 0 ? "," : "", i);
  }
  return store::OpenClusterState(options).value();
}

// A process of its own; `adopt` as the proxy is.
struct Client {
  Client(World& world, const std::string& name, bool adopt = false)
      : process(world.AddProcess(name)),
        session(process, OpenCluster(adopt), 16) {}

  Result<ObjectInfo> Put(std::string_view key, std::string_view value,
                         std::int64_t expiry = 0) {
    PutOptions options;
    options.client_flags = kFlags;
    options.expiry = expiry;
    return net::SyncWait(
        process, store.Put(key, std::as_bytes(std::span(value)), options));
  }
  Result<ObjectInfo> Export(std::string_view key,
                            ExportMode mode = ExportMode::kExport) {
    return net::SyncWait(process, store.Export(key, mode));
  }
  // As the proxy reads: the object, or the plain item.
  std::string Read(std::string_view key) {
    Value value;
    const auto got = net::SyncWait(process, store.Get(key, value));
    if (got) return std::string(value.text());
    if (got.error().code() != StatusCode::kNotManaged) {
      return "! " + got.error().message();
    }
    const auto plain = net::SyncWait(process, store.GetPlain(key, value));
    return plain ? std::string(value.text()) : "! " + plain.error().message();
  }

  SimRuntime& process;
  store::Session session;
  store::Store store{
      session, {.scheme = {SchemeKind::kErs2, 2, 2, 4}, .inline_below = 64}};
};

struct Fixture {
  Fixture() {
    for (int i = 0; i < kServers; ++i) {
      world.AddServer(fmt::format("10.0.0.{}:11211", i),
                      {.item_size_max = kItemLimit});
    }
  }
  // What a client without this library finds; null: nothing.
  ModelItem* Plain(const std::string& key) {
    const int first = client.session.ring().Walk(key, 1).front();
    return world.servers()[first]->items().Find(key);
  }
  // Blocks and manifests of "k"; stubs are none.
  std::size_t Items() {
    std::size_t count = 0;
    for (const auto& server : world.servers()) {
      for (const std::string& key : server->items().LiveKeys()) {
        const bool own = key == "ers!view" || key == "ers!boot" ||
                         key == "ers!peers" || key.starts_with("ers!p.") ||
                         key.starts_with("ers!spare.");
        count += !own && !server->items().Find(key)->value.empty();
      }
    }
    return count;
  }
  void Reconcile() {
    world.RunUntil([] { return false; }, std::chrono::seconds(1));
  }
  // Does `what` once the n-th manifest write of "k" from now on was applied.
  void AtWrite(int n, std::function<void()> what) {
    writes = 0;
    const auto count = [this, n, what = std::move(what)](
                           const SimConnection&,
                           const AppliedCommand& command) {
      const bool write = command.verb == "cas" || command.verb == "md";
      if (command.key == "k" && write && ++writes == n) {
        world.After(Duration(0), what);
      }
    };
    for (const auto& server : world.servers()) server->on_applied = count;
  }

  World world{1};
  Client client{world, "client"};
  int writes = 0;
};

TEST_CASE("an exported object is a plain item where the ring says") {
  // In the manifest and as blocks.
  const std::string value(GENERATE(0, 10, 3000), 'v');
  Fixture f;
  const std::int64_t now = f.client.process.WallMicros() / kMicrosPerSecond;
  REQUIRE(f.client.Put("k", value, now + 100).has_value());
  REQUIRE(f.client.Export("k", ExportMode::kCheckOnly).has_value());
  CHECK(f.Items() > 1);
  const auto exported = f.client.Export("k");
  REQUIRE(exported.has_value());
  CHECK(exported->length == value.size());
  REQUIRE(f.Plain("k") != nullptr);
  CHECK(f.Plain("k")->value == value);
  CHECK(f.Plain("k")->flags == kFlags);
  CHECK(f.client.Read("k") == value);
  CHECK(f.client.Export("k").error().code() == StatusCode::kAlreadyThere);
  f.Reconcile();
  CHECK(f.Items() == (value.empty() ? 0 : 1));
  Value read;
  const auto plain =
      net::SyncWait(f.client.process, f.client.store.GetPlain("k", read));
  REQUIRE(plain.has_value());
  CHECK(plain->ttl > 90);
  CHECK(plain->ttl <= 100);

  // The next put through a proxy makes an object of it again.
  Client proxy(f.world, "proxy", /*adopt=*/true);
  REQUIRE(proxy.Put("k", "new").has_value());
  CHECK(f.client.Read("k") == "new");
  REQUIRE(f.client.Export("k").has_value());
  CHECK(f.Plain("k")->value == "new");
}

TEST_CASE("what cannot be a plain item is refused and stays") {
  Fixture f;
  const auto refused = [&f](std::string_view key, std::string_view value) {
    REQUIRE(f.client.Put(key, value).has_value());
    const auto exported = f.client.Export(key);
    REQUIRE_FALSE(exported.has_value());
    CHECK(f.client.Read(key) == value);
    return exported.error().code();
  };
  CHECK(refused("ers!mine", "value") == StatusCode::kInvalidArgument);
  CHECK(refused("k", "eRSm is how manifests begin") ==
        StatusCode::kInvalidArgument);
  CHECK(refused("k", std::string(kItemLimit, 'x')) == StatusCode::kTooLarge);
  // The largest that fits, and a byte more, by the server's own rule.
  const std::size_t own = ModelItems::StoredBytes(1, 0, kFlags);
  CHECK(refused("k", std::string(kItemLimit - own + 1, 'x')) ==
        StatusCode::kTooLarge);
  const std::string fits(kItemLimit - own, 'y');
  REQUIRE(f.client.Put("k", fits).has_value());
  CHECK(f.client.Export("k").has_value());
  CHECK(f.Plain("k")->value == fits);
  CHECK(f.client.Export("none").error().code() == StatusCode::kNotFound);
}

TEST_CASE("a check says what the export would say, and writes nothing") {
  const std::string value(GENERATE(10, 3000), 'v');
  Fixture f;
  REQUIRE(f.client.Put("k", value).has_value());
  const int first = f.client.session.ring().Walk("k", 1).front();
  StatusCode why = StatusCode::kOk;
  SECTION("the item's server is dead") {
    f.world.servers()[first]->Crash();
    why = StatusCode::kUnavailable;
  }
  SECTION("the item's server was taken out") {
    f.world.servers()[first]->Crash();
    REQUIRE(f.client.Put("k", value).has_value());
    why = StatusCode::kUnavailable;
  }
  SECTION("a plain client wrote there") {
    ModelItem other;
    other.value = "of a plain client";
    f.world.servers()[first]->items().Put("k", other);
    why = StatusCode::kConflict;
  }
  bool written = false;
  f.AtWrite(1, [&] { written = true; });
  const auto checked = f.client.Export("k", ExportMode::kCheckOnly);
  f.Reconcile();
  CHECK_FALSE(written);
  const auto exported = f.client.Export("k");
  REQUIRE_FALSE(checked.has_value());
  REQUIRE_FALSE(exported.has_value());
  CHECK(checked.error().code() == why);
  CHECK(checked.error().message() == exported.error().message());
  CHECK(f.client.Read("k") == value);
}

// Invariant C10.
TEST_CASE("an export whose process dies leaves the value readable") {
  const std::string value(GENERATE(10, 3000), 'v');
  const int replicas = kMaxFailures + 1;
  const int write = GENERATE(range(1, kMaxFailures + 2));
  INFO("dies after write " << write);
  Fixture f;
  REQUIRE(f.client.Put("k", value).has_value());
  auto exporter = std::make_shared<Client>(f.world, "exporter");
  ParkForever(exporter);
  REQUIRE(exporter->Read("k") == value);
  f.AtWrite(write, [&] { exporter->process.Kill(); });
  const auto run = [](Client& by) -> net::Task<void> {
    (void)co_await by.store.Export("k", ExportMode::kExport);
    FAIL("it does not get here");
  };
  net::Spawn(run(*exporter));
  REQUIRE(f.world.RunUntil([&] { return exporter->process.killed(); },
                           std::chrono::seconds(10)));
  f.Reconcile();
  CHECK(f.client.Read("k") == value);
  Client proxy(f.world, "proxy", /*adopt=*/true);
  CHECK(proxy.Read("k") == value);
  SECTION("again, and it is done") {
    const auto again = f.client.Export("k");
    CHECK((again.has_value() ||
           again.error().code() == StatusCode::kAlreadyThere));
    REQUIRE(f.Plain("k") != nullptr);
    CHECK(f.Plain("k")->value == value);
    CHECK(f.client.Read("k") == value);
  }
  SECTION("a put through the proxy makes a new object") {
    REQUIRE(proxy.Put("k", "new").has_value());
    CHECK(f.client.Read("k") == "new");
  }
  SECTION("another item there is not overwritten") {
    ModelItem other;
    other.value = "of a plain client";
    const int first = f.client.session.ring().Walk("k", 1).front();
    f.world.servers()[first]->items().Put("k", other);
    const auto again = f.client.Export("k");
    CHECK(
        again.error().code() ==
        (write < replicas ? StatusCode::kConflict : StatusCode::kAlreadyThere));
    CHECK(f.Plain("k")->value == other.value);
  }
}

// Invariant C10.
TEST_CASE("a put that comes in the middle of an export is not lost") {
  const std::string value(GENERATE(10, 3000), 'v');
  const int write = GENERATE(range(1, kMaxFailures + 2));
  INFO("after write " << write);
  Fixture f;
  REQUIRE(f.client.Put("k", value).has_value());
  Client proxy(f.world, "proxy", /*adopt=*/true);
  REQUIRE(proxy.Read("k") == value);
  bool put = false;
  const auto rival = [](Client& by, bool& done) -> net::Task<void> {
    static constexpr std::string_view kText = "rival";
    const PutOptions options;
    const auto stored =
        co_await by.store.Put("k", std::as_bytes(std::span(kText)), options);
    CHECK(stored.has_value());
    done = true;
  };
  f.AtWrite(write, [&] { net::Spawn(rival(proxy, put)); });
  const auto exported = f.client.Export("k");
  CHECK(exported.has_value());
  REQUIRE(f.world.RunUntil([&] { return put; }, std::chrono::seconds(10)));
  f.Reconcile();
  CHECK(f.client.Read("k") == "rival");
  CHECK(proxy.Read("k") == "rival");
}

TEST_CASE("an export goes on over lost replies and a dead server") {
  const std::string value(GENERATE(10, 3000), 'v');
  const int write = GENERATE(range(1, kMaxFailures + 2));
  const int server = GENERATE(range(0, kServers));
  INFO("after write " << write << " server " << server);
  Fixture f;
  REQUIRE(f.client.Put("k", value).has_value());
  SimServer& hit = *f.world.servers()[server];
  const bool holds_plain =
      f.client.session.ring().Walk("k", 1).front() == server;
  bool crashed = false;
  SECTION("its connections break") {
    f.AtWrite(write, [&] { hit.CutConnections(); });
  }
  SECTION("it dies") {
    crashed = true;
    f.AtWrite(write, [&] { hit.Crash(); });
  }
  const auto exported = f.client.Export("k");
  if (crashed && holds_plain) {
    // Whether it was over before: only then the value went with it.
    CHECK((exported.has_value() || f.client.Read("k") == value));
    return;
  }
  REQUIRE(exported.has_value());
  CHECK(f.Plain("k")->value == value);
  Client other(f.world, "other");
  CHECK(other.Read("k") == value);
}

}  // namespace
}  // namespace ers::sim
