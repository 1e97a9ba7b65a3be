// What the first call on a new cluster fixes, and what it must not.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

constexpr int kServers = 4;
constexpr std::size_t kSmall = 5;  // rides in its manifest
constexpr std::size_t kLarge = 200'000;

struct Fixture {
  explicit Fixture(int max_failures = 0)
      : client(world, servers, "client", {}, max_failures) {}

  Result<ObjectInfo> Put(std::size_t bytes, std::string_view scheme,
                         std::uint64_t cas = 0) {
    PutOptions options;
    options.scheme = ParseScheme(scheme).value();
    options.expected_cas = cas;
    const std::vector<std::byte> value(bytes);
    return net::SyncWait(client.process,
                         client.store.Put("key", value, options));
  }
  bool IsNew() {
    return std::ranges::none_of(world.servers(), [](const auto& server) {
      return std::ranges::count(server->items().LiveKeys(), store::kViewKey) !=
             0;
    });
  }

  World world{1};
  const std::string servers = world.AddServers(kServers);
  SimClient client;
};

TEST_CASE("a put that is refused leaves a new cluster as it was") {
  Fixture f;
  const std::size_t bytes = GENERATE(std::size_t{0}, kSmall, kLarge);
  CAPTURE(bytes);
  const auto put = f.Put(bytes, "ers2:12,3,14");
  REQUIRE_FALSE(put.has_value());
  CHECK(put.error().code() == StatusCode::kInvalidArgument);
  CHECK(put.error().message() ==
        "scheme ers2:12,3,14 needs 17 servers and the list has 4: choose a "
        "narrower scheme, or list every server");
  CHECK(f.IsNew());
  REQUIRE(f.Put(bytes, "ers2:2,1,3").has_value());
  CHECK(f.client.session.view()->max_failures == 1);
}

TEST_CASE("a put with more parity than was chosen sets up no cluster") {
  Fixture f(/*max_failures=*/1);
  const auto put = f.Put(kSmall, "rs:2,2");
  REQUIRE_FALSE(put.has_value());
  CHECK(put.error().code() == StatusCode::kInvalidArgument);
  CHECK(put.error().message() ==
        "scheme rs:2,2 has m = 2, and max_failures is 1: choose a smaller m, "
        "or a larger max_failures");
  CHECK(f.IsNew());
}

TEST_CASE("a put over what an object must hold sets up no cluster") {
  Fixture f;
  const auto put = f.Put(kSmall, "rs:2,2", /*cas=*/7);
  REQUIRE_FALSE(put.has_value());
  CHECK(put.error().code() == StatusCode::kNotFound);
  CHECK(f.IsNew());
}

TEST_CASE("a small value needs the servers of its scheme as a large one does") {
  Fixture f;
  REQUIRE(f.Put(kSmall, "ers2:2,1,3").has_value());
  const std::string refused =
      "scheme ers2:4,1,5 needs 6 servers and the cluster has 4: choose a "
      "narrower scheme";
  const std::size_t bytes = GENERATE(std::size_t{0}, kSmall, kLarge);
  CAPTURE(bytes);
  const auto put = f.Put(bytes, "ers2:4,1,5");
  REQUIRE_FALSE(put.has_value());
  CHECK(put.error().message() == refused);
  // Nor does a transition lead there.
  REQUIRE(f.Put(bytes, "ers2:2,1,3").has_value());
  TransitionTarget target;
  target.scheme = ParseScheme("ers2:4,1,5").value();
  const auto changed = net::SyncWait(
      f.client.process,
      f.client.store.Transition("key", target, TransitionVariant::kOptimal));
  REQUIRE_FALSE(changed.has_value());
  CHECK(changed.error().message() == refused);
}

}  // namespace
}  // namespace ers::sim
