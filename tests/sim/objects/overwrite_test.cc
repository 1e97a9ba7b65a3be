// Readers of a value that is overwritten under them.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServers = 9;

std::string ServerName(int number) {
  return fmt::format("10.0.0.{}:11211", number);
}

// Small items make small groups.
void AddServers(World& world) {
  for (int i = 0; i < kServers; ++i) {
    world.AddServer(ServerName(i), {.item_size_max = 2048});
  }
}

std::shared_ptr<store::ClusterState> OpenCluster() {
  ClusterOptions options;
  for (int i = 0; i < kServers; ++i) {
    if (i > 0) options.servers += ',';
    options.servers += ServerName(i);
  }
  return store::OpenClusterState(options).value();
}

constexpr std::size_t kBytes = 40'000;
constexpr std::byte kOld{'o'};
constexpr std::byte kNew{'n'};

// A process of its own.
struct Client {
  explicit Client(World& world, const std::string& name)
      : process(world.AddProcess(name)),
        session(process, OpenCluster(), 16),
        store(session,
              {.scheme = {SchemeKind::kRs, 8, 1, 8}, .inline_below = 0}) {}

  SimRuntime& process;
  store::Session session;
  store::Store store;
};

struct Fixture {
  Fixture() { AddServers(world); }

  void Put(std::byte letter) {
    const std::vector<std::byte> value(kBytes, letter);
    REQUIRE(net::SyncWait(writer.process, writer.store.Put("key", value, {}))
                .has_value());
  }
  void Sleep(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  // The reader sees the first group, then what `meanwhile` does happens.
  Result<GetInfo> Stream(const std::function<void()>& meanwhile) {
    bool first = true;
    const auto begin = [](const GetInfo&) {};
    const auto sink = [&](std::span<const std::byte> bytes) {
      seen.insert(seen.end(), bytes.begin(), bytes.end());
      if (std::exchange(first, false)) meanwhile();
      return Status();
    };
    return net::SyncWait(reader.process,
                         reader.store.GetTo("key", begin, sink));
  }
  [[nodiscard]] bool SawOnly(std::byte letter) const {
    return std::count(seen.begin(), seen.end(), letter) ==
           static_cast<std::ptrdiff_t>(seen.size());
  }
  // Of all servers; garbage included.
  [[nodiscard]] std::size_t Items() const {
    std::size_t count = 0;
    for (const auto& server : world.servers()) {
      count += server->items().size();
    }
    return count;
  }

  World world{1};
  Client writer{world, "writer"};
  Client reader{world, "reader"};
  std::vector<std::byte> seen;
};

TEST_CASE("a value that had lived is read to its end when it is replaced") {
  Fixture f;
  f.Put(kOld);
  f.Sleep(hours(1));
  const Result<GetInfo> got = f.Stream([&] {
    f.Put(kNew);
    f.Sleep(milliseconds(500));
  });
  REQUIRE(got.has_value());
  CHECK(f.seen.size() == kBytes);
  CHECK(f.SawOnly(kOld));
}

// Invariants C9 and C4.
TEST_CASE(
    "a reader that is overtaken gets an error, and saw one version only") {
  Fixture f;
  f.Put(kOld);
  SECTION("by a change of a value that was fresh") {
    const Result<GetInfo> got = f.Stream([&] {
      f.Put(kNew);
      f.Sleep(milliseconds(500));
    });
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error().code() == StatusCode::kConflict);
  }
  SECTION("by the end of its time") {
    f.Sleep(hours(1));
    const Result<GetInfo> got = f.Stream([&] {
      f.Put(kNew);
      f.Sleep(seconds(10));
    });
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error().code() == StatusCode::kConflict);
    CHECK(got.error().message().find("read it again") != std::string::npos);
  }
  CHECK(f.seen.size() < kBytes);
  CHECK(f.SawOnly(kOld));
}

TEST_CASE("memory that is given must hold the value as it is now, not was") {
  Fixture f;
  f.Put(kOld);
  std::vector<std::byte> room(kBytes);
  const auto get = [&]() -> Result<std::size_t> {
    Value value([&](std::size_t bytes) {
      return bytes > room.size() ? nullptr : room.data();
    });
    const Result<GetInfo> got =
        net::SyncWait(f.reader.process, f.reader.store.Get("key", value));
    if (!got) return Fail(got.error());
    return value.size();
  };
  REQUIRE(get() == kBytes);
  CHECK(std::count(room.begin(), room.end(), kOld) == kBytes);

  room.assign(1000, std::byte{});
  const Result<std::size_t> refused = get();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == StatusCode::kTooLarge);
  CHECK(refused.error().message() ==
        "the memory given is too small for 40000 bytes of key 'key'");

  // The reader still believes in the longer one.
  const std::vector<std::byte> shorter(1000, kNew);
  REQUIRE(
      net::SyncWait(f.writer.process, f.writer.store.Put("key", shorter, {}))
          .has_value());
  REQUIRE(get() == 1000);
  CHECK(room == shorter);
}

TEST_CASE("a value that is replaced again and again leaves no garbage") {
  Fixture f;
  f.Put(kOld);
  f.Sleep(seconds(1));
  const std::size_t items = f.Items();
  for (int i = 0; i < 50; ++i) {
    f.Put(kNew);
    f.Sleep(milliseconds(20));
  }
  CHECK(f.Items() < 3 * items);
}

// Puts `puts` values, one after the other.
net::Task<void> Overwrite(Client& client, int puts, int& running) {
  ++running;
  const std::vector<std::byte> value(1000, kNew);
  for (int i = 0; i < puts; ++i) {
    (void)co_await client.store.Put("key", value, {});
  }
  --running;
}

net::Task<void> ReadWhile(Client& client, const int& running,
                          std::map<StatusCode, int>& ends) {
  while (running > 0) {
    Value value;
    const Result<GetInfo> got = co_await client.store.Get("key", value);
    ++ends[got ? StatusCode::kOk : got.error().code()];
  }
}

// Invariant C7.
TEST_CASE("a value that is always there is never a miss, however it changes") {
  constexpr int kSeeds = 200;
  constexpr int kWriters = 5;
  constexpr int kPuts = 30;
  std::map<StatusCode, int> ends;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    AddServers(world);
    world.network().latency_max = milliseconds(5);
    std::vector<std::unique_ptr<Client>> writers;
    int running = 0;
    for (int i = 0; i < kWriters; ++i) {
      writers.push_back(
          std::make_unique<Client>(world, fmt::format("writer {}", i)));
    }
    Client reader(world, "reader");
    const std::vector<std::byte> value(1000, kOld);
    REQUIRE(net::SyncWait(reader.process, reader.store.Put("key", value, {}))
                .has_value());
    for (const auto& writer : writers) {
      net::Spawn(Overwrite(*writer, kPuts, running));
    }
    net::SyncWait(reader.process, ReadWhile(reader, running, ends));
  }
  CHECK(ends[StatusCode::kNotFound] == 0);
  CHECK(ends[StatusCode::kOk] > kSeeds);
}

}  // namespace
}  // namespace ers::sim
