// Changes of a key that the same process has changed last: by the tokens that
// it has kept, without a read of the replicas.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"
#include "sim/objects/quick_calls.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/manifest.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_checks.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;

constexpr int kServers = 4;
constexpr Duration kReply = milliseconds(10);  // what a round trip takes
constexpr std::string_view kKey = "k";

struct Writer {
  Writer(World& world, const std::string& servers, const std::string& name,
         bool adopts)
      : process(world.AddProcess(name)), cluster(Open(servers, name, adopts)) {}

  Result<ObjectInfo> Put(std::string_view bytes, std::string_view key = kKey) {
    const auto value = std::as_bytes(std::span(bytes));
    return net::SyncWait(process,
                         quick ? QuickWrite(store, key, value, {}, &quick_ends)
                               : store.Put(key, value, {}));
  }
  // Until there are tokens to keep.
  void PutTwice() {
    REQUIRE(Put("first").has_value());
    REQUIRE(Put("second").has_value());
  }
  std::string Get() {
    Value value;
    const auto got = net::SyncWait(process, store.Get(kKey, value));
    return got ? std::string(value.text()) : got.error().message();
  }
  Status Delete() { return net::SyncWait(process, store.Delete(kKey)); }

  SimRuntime& process;
  std::shared_ptr<store::ClusterState> cluster;
  store::Session session{process, cluster, 16};
  store::Store store{session, {.scheme = {SchemeKind::kErs2, 2, 1, 3}}};
  bool quick = true;   // as a proxy puts
  int quick_ends = 0;  // puts that no coroutine waited for

 private:
  static std::shared_ptr<store::ClusterState> Open(const std::string& servers,
                                                   const std::string& name,
                                                   bool adopts) {
    ClusterOptions options;
    options.adopt_plain_items = adopts;
    options.servers = servers;
    return store::OpenClusterState(options, name).value();
  }
};

struct Fixture {
  explicit Fixture(bool adopts = true) : writer(world, servers, "a", adopts) {
    REQUIRE(writer.Put("makes the first view", "other").has_value());
    for (const auto& server : world.servers()) {
      server->faults().slow_min = server->faults().slow_max = kReply;
    }
  }
  // How often the writer waits for replies.
  int Trips(std::string_view bytes) {
    const auto begun = world.now();
    const auto put = writer.Put(bytes);
    REQUIRE(put.has_value());
    CHECK(put->cas > cas);
    cas = put->cas;
    return static_cast<int>((world.now() - begun) / kReply);
  }
  SimServer& Replica(std::size_t number) {
    const store::Replicas replicas = store::ReplicasOf(
        *writer.session.view(), writer.session.ring(), std::string(kKey));
    const int member = replicas.members[number];
    return *world.servers()[static_cast<std::size_t>(member)];
  }
  store::Manifest Shown(std::size_t number) {
    return store::DecodeManifest(kKey,
                                 Replica(number).items().Find(kKey)->value)
        .value();
  }

  World world{1};
  const std::string servers = world.AddServers(kServers);
  Writer writer;
  std::uint64_t cas = 0;
};

TEST_CASE("a key that its process has changed twice is changed in one trip") {
  Fixture f;
  f.writer.quick = GENERATE(true, false);
  CHECK(f.Trips("first") == 2);
  CHECK(f.Trips("second") == 2);
  for (int i = 0; i < 12; ++i) {
    const std::string value = fmt::format("again {}", i);
    CHECK(f.Trips(value) == 1);
    CHECK(f.writer.Get() == value);
  }
  CHECK(f.Shown(0).history.size() > 1);
  CHECK(f.writer.quick_ends == (f.writer.quick ? 12 : 0));
}

TEST_CASE("a value that does not ride in its manifest is put as ever") {
  Fixture f;
  f.writer.PutTwice();
  const std::string in_blocks(20000, 'b');
  REQUIRE(f.writer.Put(in_blocks).has_value());
  CHECK(f.writer.Get() == in_blocks);
  CHECK(f.writer.quick_ends == 0);
}

TEST_CASE("a put for which there are too few servers is refused all the same") {
  Fixture f;
  f.writer.PutTwice();
  const std::string_view small = "third";
  PutOptions options;
  options.scheme = Scheme{SchemeKind::kRs, 2 * kServers, 1, 2 * kServers};
  const auto put = net::SyncWait(
      f.writer.process, QuickWrite(f.writer.store, kKey,
                                   std::as_bytes(std::span(small)), options));
  REQUIRE_FALSE(put.has_value());
  CHECK(put.error().code() == StatusCode::kInvalidArgument);
  CHECK(f.writer.Get() == "second");
}

TEST_CASE("a put waits for one of the same process that is under way") {
  Fixture f;
  f.writer.PutTwice();
  const std::string_view values[] = {"third", "fourth"};
  int ended = 0;
  for (const std::string_view value : values) {
    net::Spawn([](Writer& writer, std::string_view bytes,
                  int& ends) -> net::Task<void> {
      const auto put = co_await QuickWrite(writer.store, kKey,
                                           std::as_bytes(std::span(bytes)),
                                           PutOptions(), &writer.quick_ends);
      CHECK(put.has_value());
      ++ends;
    }(f.writer, value, ended));
  }
  REQUIRE(f.world.RunUntil([&ended] { return ended == 2; },
                           std::chrono::seconds(10)));
  CHECK(f.writer.Get() == "fourth");
  CHECK(f.writer.quick_ends == 1);
  CHECK(f.writer.session.counters().aborts_by_rival.Get() == 0);
}

// The answer to a commit is lost, and so it is asked for again.
TEST_CASE("a put whose answer is lost comes to its end") {
  Fixture f;
  f.writer.PutTwice();
  SimServer& server = f.Replica(0);
  bool cut = false;
  server.on_applied = [&](const SimConnection&, const AppliedCommand& command) {
    if (command.verb != "cas" || command.key != kKey || cut) return;
    cut = true;
    server.faults().drop_reply_chance = 1'000'000;
    f.world.After(Duration(1), [&] { server.faults().drop_reply_chance = 0; });
  };
  CHECK(f.writer.Put("third").has_value());
  server.on_applied = nullptr;
  CHECK(cut);
  CHECK(f.writer.quick_ends == 0);
  CHECK(f.writer.Get() == "third");
}

TEST_CASE("a process that would leave plain items alone reads each time") {
  Fixture f(false);
  for (int i = 0; i < 4; ++i) CHECK(f.Trips("value") == 2);
}

TEST_CASE("what another process has put meanwhile is built upon") {
  Fixture f;
  Writer rival(f.world, f.servers, "b", true);
  f.writer.PutTwice();
  const auto between = rival.Put("the rival's");
  REQUIRE(between.has_value());
  const auto put = f.writer.Put("third");
  REQUIRE(put.has_value());
  CHECK(put->cas > between->cas);
  // Refused at all replicas at once, then as ever.
  CHECK(f.Shown(0).history.at(0).maker ==
        store::ChangeId::TagOf(rival.session.maker()));
  CHECK(f.writer.session.counters().aborts_by_rival.Get() == 1);
  CHECK(rival.Get() == "third");
}

TEST_CASE("a delete by the same process is built upon") {
  Fixture f;
  f.writer.PutTwice();
  REQUIRE(f.writer.Delete().ok());
  const store::ChangeId deleted = f.Shown(0).id;
  CHECK(f.Trips("third") == 2);
  CHECK(f.Shown(0).history.at(0) == deleted.tag());
}

TEST_CASE("tokens outlive their connections") {
  Fixture f;
  f.writer.PutTwice();
  const std::uint64_t epoch = f.writer.session.view()->epoch;
  f.Replica(0).CutConnections();
  (void)f.world.RunUntil([] { return false; }, milliseconds(100));
  CHECK(f.Trips("third") == 1);
  CHECK(f.writer.session.view()->epoch == epoch);
}

TEST_CASE("all threads of a process share them") {
  Fixture f;
  store::Session session(f.writer.process, f.writer.cluster, 16);
  store::Store store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3}});
  const auto put = [&](std::string_view bytes) {
    return net::SyncWait(f.writer.process,
                         store.Put(kKey, std::as_bytes(std::span(bytes)), {}));
  };
  REQUIRE(put("first").has_value());
  CHECK(f.Trips("second") == 2);
  CHECK(f.Trips("third") == 1);
  const auto begun = f.world.now();
  REQUIRE(put("fourth").has_value());
  CHECK((f.world.now() - begun) / kReply == 1);
  CHECK(f.writer.Get() == "fourth");
}

TEST_CASE("a token of another item is not kept") {
  for (const std::size_t number : {0U, 1U}) {
    Fixture f;
    f.writer.PutTwice();
    SimServer& server = f.Replica(number);
    // Another process's change, between the write and what asks its token.
    store::ChangeId rival;
    server.on_applied = [&](const SimConnection&,
                            const AppliedCommand& command) {
      if (command.verb != "cas" || command.key != kKey || rival) return;
      store::Manifest manifest =
          store::DecodeManifest(kKey, command.value).value();
      manifest.history.insert(manifest.history.begin(), manifest.id.tag());
      manifest.id.time_us += 1;
      manifest.value = "rival";
      rival = manifest.id;
      ModelItem item;
      item.value = store::EncodeManifest(manifest);
      // It keeps its own token.
      item.flags = store::ChecksumOf(item.value);
      server.items().Put(kKey, item);
    };
    REQUIRE(f.writer.Put("third").has_value());
    server.on_applied = nullptr;
    REQUIRE(rival);
    REQUIRE(f.writer.Put("fourth").has_value());
    // The primary decides; where it has the rival's, that was built upon.
    const bool is_primary = number == 1;
    CHECK(f.Shown(number).Remembers(rival) == is_primary);
    CHECK(f.writer.Get() == "fourth");
  }
}

}  // namespace
}  // namespace ers::sim
