// The mark of copies whose change is known to be committed, beside what servers
// know of accesses.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/manifest.h"
#include "store/membership/view_checks.h"

namespace ers::sim {
namespace {

constexpr int kServers = 5;
constexpr int kKeys = 60;  // of one in four copies are marked

std::string KeyOf(int number) { return fmt::format("key{}", number); }

struct Fixture {
  Fixture() {
    const std::string_view value = "value";
    for (int i = 0; i < kKeys; ++i) {
      REQUIRE(net::SyncWait(writer.process,
                            writer.store.Put(
                                KeyOf(i), std::as_bytes(std::span(value)), {}))
                  .has_value());
    }
  }
  // At its primary.
  const ModelItem& ItemOf(const std::string& key) {
    const store::Replicas replicas =
        store::ReplicasOf(*writer.session.view(), writer.session.ring(), key);
    const auto member = static_cast<std::size_t>(replicas.primary());
    return *world.servers()[member]->items().Find(key);
  }
  static bool IsMarked(const std::string& key, const ModelItem& item) {
    const Result<store::Manifest> manifest =
        store::DecodeManifest(key, item.value);
    return manifest && manifest->confirmed;
  }
  // What is done in the background ends.
  void Settle() {
    world.RunUntil([] { return false; }, std::chrono::seconds(1));
  }

  World world{3};
  const std::string servers = world.AddServers(kServers);
  SimClient writer{world, servers, "writer"};
  SimClient reader{world, servers, "reader"};
};

TEST_CASE("a read that has copies marked is an access to what is there then") {
  Fixture f;
  for (int i = 0; i < kKeys; ++i) {
    Value value;
    CHECK(net::SyncWait(f.reader.process, f.reader.store.Get(KeyOf(i), value))
              .has_value());
  }
  f.Settle();
  int marked = 0;
  for (int i = 0; i < kKeys; ++i) {
    const ModelItem& item = f.ItemOf(KeyOf(i));
    CHECK(item.fetched);
    marked += Fixture::IsMarked(KeyOf(i), item) ? 1 : 0;
  }
  CHECK(marked > 0);
}

TEST_CASE("a read that is no access has nothing marked") {
  Fixture f;
  int listed = 0;
  const auto visit = [&listed](std::string_view, const ObjectInfo&) {
    ++listed;
    return true;
  };
  REQUIRE(net::SyncWait(f.reader.process, f.reader.store.List(visit)).ok());
  f.Settle();
  CHECK(listed == kKeys);
  for (int i = 0; i < kKeys; ++i) {
    const ModelItem& item = f.ItemOf(KeyOf(i));
    CHECK_FALSE(item.fetched);
    CHECK_FALSE(Fixture::IsMarked(KeyOf(i), item));
  }
}

}  // namespace
}  // namespace ers::sim
