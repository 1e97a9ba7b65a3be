// Sources that fail in the midst of a value: nothing of it stays.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"

namespace ers::sim {
namespace {

constexpr std::size_t kInlineBelow = 64;

// Gives `bytes`, then fails.
Source Failing(std::size_t bytes) {
  return
      [left = bytes](std::span<std::byte> into) mutable -> Result<std::size_t> {
        if (left == 0)
          return Fail(StatusCode::kUnavailable, "the source is gone");
        const std::size_t count = std::min(into.size(), left);
        std::ranges::fill(into.first(count), std::byte{1});
        left -= count;
        return count;
      };
}

struct Fixture {
  World world{1};
  const std::string servers = world.AddServers(4);
  SimClient client{
      world,
      servers,
      "client",
      {.scheme = {SchemeKind::kErs2, 2, 1, 3}, .inline_below = kInlineBelow}};

  int Items() {
    world.RunUntil([] { return false; }, std::chrono::seconds(1));
    int items = 0;
    for (const auto& server : world.servers()) {
      items += static_cast<int>(std::ranges::count_if(
          server->items().LiveKeys(), [](const std::string& key) {
            return key.starts_with("ers!b") && key != "ers!boot";
          }));
    }
    return items;
  }
};

TEST_CASE("an append whose source fails leaves the value as it was") {
  const std::size_t size = GENERATE(10, 1000);
  const std::size_t given = GENERATE(0, 1, 40, 100, 5000);
  CAPTURE(size, given);
  Fixture f;
  const std::vector<std::byte> value(size, std::byte{7});
  REQUIRE(net::SyncWait(f.client.process, f.client.store.Put("key", value, {}))
              .has_value());
  const int items = f.Items();
  const auto appended = net::SyncWait(
      f.client.process, f.client.store.Append("key", Failing(given)));
  REQUIRE_FALSE(appended.has_value());
  CHECK(appended.error().message() == "the source is gone");
  Value got;
  REQUIRE(net::SyncWait(f.client.process, f.client.store.Get("key", got))
              .has_value());
  CHECK(std::ranges::equal(got.bytes(), value));
  CHECK(f.Items() == items);
}

TEST_CASE("a put whose source fails leaves the value as it was") {
  const std::size_t given = GENERATE(0, 1, 40, 100, 5000);
  CAPTURE(given);
  Fixture f;
  REQUIRE(f.client.Put().ok());
  const auto put = net::SyncWait(
      f.client.process, f.client.store.PutFrom("key", Failing(given), {}));
  REQUIRE_FALSE(put.has_value());
  CHECK(put.error().message() == "the source is gone");
  Value got;
  REQUIRE(net::SyncWait(f.client.process, f.client.store.Get("key", got))
              .has_value());
  CHECK(got.size() == 5);
  CHECK(f.Items() == 0);
}

}  // namespace
}  // namespace ers::sim
