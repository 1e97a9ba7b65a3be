// OneValue: one client, and one value under the key "key", which tests turn
// into other forms.
#ifndef ERS_TESTS_SIM_OBJECTS_ONE_VALUE_H_
#define ERS_TESTS_SIM_OBJECTS_ONE_VALUE_H_

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/verify.h"

namespace ers::sim {

// Of as many servers as the scheme needs with the larger of its m and f.
struct OneValue {
  static constexpr std::size_t kColumnBelow = 8192;

  OneValue(const std::string& text, Unit unit, int max_failures = 0)
      : scheme(ParseScheme(text).value()),
        servers(world.AddServers(scheme.kp + std::max(scheme.m, max_failures))),
        session(process, Open(servers, std::max(scheme.m, max_failures)), 16),
        store(session,
              {.scheme = scheme,
               .inline_below = 0,
               .column_below = unit == Unit::kColumns ? kColumnBelow : 0}) {}

  static std::shared_ptr<store::ClusterState> Open(const std::string& servers,
                                                   int max_failures) {
    ClusterOptions options;
    options.servers = servers;
    options.max_failures = max_failures;
    return store::OpenClusterState(options).value();
  }

  void Put(std::size_t bytes, const PutOptions& options) {
    value.resize(bytes);
    for (std::byte& byte : value) byte = std::byte(world.random().Below(256));
    const auto put = net::SyncWait(process, store.Put("key", value, options));
    REQUIRE(put.has_value());
    CHECK(put->width == options.width);
  }
  void Put(std::size_t bytes, Width width = Width::kNarrow) {
    PutOptions options;
    options.width = width;
    Put(bytes, options);
  }
  bool IsWhole() {
    Value got;
    const auto info = net::SyncWait(process, store.Get("key", got));
    return info && std::ranges::equal(got.bytes(), value);
  }
  Result<TransitionInfo> Turn(const TransitionTarget& target,
                              TransitionVariant variant = {}) {
    return net::SyncWait(process, store.Transition("key", target, variant));
  }
  ObjectDetail Where() {
    return net::SyncWait(process, store.Stat("key")).value();
  }
  // Items of blocks or columns on all servers.
  int Items() {
    int items = 0;
    for (const auto& server : world.servers()) {
      for (const std::string& key : server->items().LiveKeys()) {
        items +=
            static_cast<int>(key.starts_with("ers!b") && key != "ers!boot");
      }
    }
    return items;
  }
  void Rest() {
    world.RunUntil([] { return false; }, std::chrono::seconds(5));
  }
  // What is not as it should be.
  std::string Lacking(bool repair = false) {
    std::string lacking;
    VerifyOptions all;
    all.repair = repair;
    all.found = [&lacking](const Finding& finding) {
      lacking +=
          fmt::format("{} {}\n", FaultName(finding.fault), finding.block);
    };
    store::Verifier verifier(session, all);
    REQUIRE(net::SyncWait(process, verifier.Run()).has_value());
    return lacking;
  }
  SimServer& ServerOf(const BlockState& block) {
    return *world.FindServer(block.server);
  }

  World world{1};
  SimRuntime& process = world.AddProcess("client");
  const Scheme scheme;
  const std::string servers;
  store::Session session;
  store::Store store;
  std::vector<std::byte> value;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_OBJECTS_ONE_VALUE_H_
