// PacksFixture: small values, and the packs that they go into.
#ifndef ERS_TESTS_SIM_OBJECTS_PACKS_FIXTURE_H_
#define ERS_TESTS_SIM_OBJECTS_PACKS_FIXTURE_H_

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/format/manifest.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/garbage.h"

namespace ers::sim {

inline constexpr int kPackServers = 6;
inline constexpr int kValues = 40;

inline std::string ValueOf(int number) {
  return fmt::format("{:0>500}", number);
}
inline std::string KeyOf(int number) { return fmt::format("key{}", number); }

// A process of its own.
struct PacksClient {
  PacksClient(World& world, const std::string& servers, const std::string& name)
      : process(world.AddProcess(name)) {
    ClusterOptions options;
    options.servers = servers;
    options.adopt_plain_items = true;
    session = std::make_unique<store::Session>(
        process, store::OpenClusterState(options).value(), 64);
    store = std::make_unique<store::Store>(
        *session, ClientOptions{.scheme = {SchemeKind::kErs2, 4, 1, 5},
                                .inline_below = 1000});
  }
  template <typename T>
  T Wait(net::Task<T> task) {
    return net::SyncWait(process, std::move(task));
  }
  Result<ObjectInfo> Put(std::string_view key, std::string_view value,
                         const PutOptions& options = {}) {
    return Wait(store->Put(key, std::as_bytes(std::span(value)), options));
  }
  void PutAll() {
    for (int i = 0; i < kValues; ++i) {
      PutOptions options;
      options.client_flags = static_cast<std::uint32_t>(i);
      REQUIRE(Put(KeyOf(i), ValueOf(i), options).has_value());
    }
  }
  std::vector<std::shared_ptr<const store::Manifest>> Manifests() {
    std::vector<std::shared_ptr<const store::Manifest>> all;
    for (int i = 0; i < kValues; ++i) {
      const auto listed = Wait(store->ReadListed(KeyOf(i)));
      REQUIRE(listed.has_value());
      if (listed->manifest) all.push_back(listed->manifest);
    }
    return all;
  }
  store::PackedValues Pack(
      std::vector<std::shared_ptr<const store::Manifest>> values) {
    const auto packed = Wait(store->Pack(std::move(values), {.any = true}));
    REQUIRE(packed.has_value());
    return *packed;
  }
  void PackAll() { REQUIRE(Pack(Manifests()).values == kValues); }
  // Empty: it is a miss, or cannot be read.
  std::string Read(std::string_view key) {
    Value value;
    const auto got = Wait(store->Get(key, value));
    return got ? std::string(value.text()) : std::string();
  }
  void ExpectAll(int from = 0) {
    for (int i = from; i < kValues; ++i) {
      CAPTURE(i);
      CHECK(Read(KeyOf(i)) == ValueOf(i));
    }
  }
  std::string PackOf(std::string_view key) {
    const auto info = Wait(store->Info(key));
    return info ? info->pack : "gone";
  }
  GarbageReport Collect(store::GarbageTerms terms = {}, bool dry_run = false) {
    terms.options.dry_run = dry_run;
    const auto report = Wait(store::CollectGarbage(*session, terms));
    REQUIRE(report.has_value());
    CHECK(report->why.ok());
    return *report;
  }

  SimRuntime& process;
  std::unique_ptr<store::Session> session;
  std::unique_ptr<store::Store> store;
};

// One client of six servers.
struct PacksFixture {
  explicit PacksFixture(const ModelServerOptions& each = {})
      : servers(world.AddServers(kPackServers, each)) {}
  void Wait(net::Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  std::size_t Bytes() const {
    std::size_t bytes = 0;
    for (const auto& server : world.servers()) {
      for (const std::string& key : server->items().LiveKeys()) {
        bytes += server->items().Find(key)->value.size();
      }
    }
    return bytes;
  }
  std::size_t Blocks() const {
    std::size_t count = 0;
    for (const auto& server : world.servers()) {
      for (const std::string& key : server->items().LiveKeys()) {
        count += store::ParseBlockKey(key) ? 1 : 0;
      }
    }
    return count;
  }

  World world{7};
  const std::string servers;
  PacksClient client{world, servers, "client"};
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_OBJECTS_PACKS_FIXTURE_H_
