// Items of plain memcached clients under the keys of objects.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/batch.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_changer.h"
#include "store/objects/store.h"
#include "store/upkeep/backfill.h"

namespace ers::sim {
namespace {

constexpr int kServers = 4;

std::shared_ptr<store::ClusterState> OpenCluster(World& world, bool adopt) {
  ClusterOptions options;
  options.adopt_plain_items = adopt;
  options.servers = world.AddServers(kServers);
  return store::OpenClusterState(options).value();
}

struct Fixture {
  explicit Fixture(bool adopt)
      : session(process, OpenCluster(world, adopt), 16) {
    REQUIRE(Put("other", "makes the first view").has_value());
    // As a client with the same ring does.
    const int member = session.ring().Walk("k", 1).front();
    const iovec body{const_cast<char*>("plain"), 5};
    net::Request set;
    set.verb = net::Verb::kSet;
    set.key = "k";
    set.client_flags = 9;
    set.body = {&body, 1};
    const auto store_it = [](Fixture& f, int to,
                             net::Request& request) -> net::Task<void> {
      store::Batch batch(f.process);
      batch.Send(store::SendStep::kReadPlain, f.session.link(to), request);
      co_await batch;
    };
    net::SyncWait(process, store_it(*this, member, set));
    REQUIRE(set.outcome == net::Outcome::kOk);
  }

  Result<ObjectInfo> Put(std::string_view key, std::string_view bytes) {
    return net::SyncWait(process,
                         store.Put(key, std::as_bytes(std::span(bytes)), {}));
  }
  Result<GetInfo> Get() {
    return net::SyncWait(process, store.Get("k", value));
  }

  // The first replica of "k" is silent during `meanwhile`, until it is down,
  // and answers again with what it held. Its number.
  int LoseFirst(const std::function<void()>& meanwhile) {
    const int member = session.ring().Walk("k", 1).front();
    const auto at = static_cast<std::size_t>(member);
    SimServer& server = *world.servers()[at];
    server.SetReachable(false);
    meanwhile();
    for (int i = 0; session.view()->members[at].state != MemberState::kDown;
         ++i) {
      REQUIRE(i < 100);
      (void)Put("other" + std::to_string(i), "misses it");
    }
    server.SetReachable(true);
    (void)world.RunUntil([] { return false; }, std::chrono::seconds(3));
    return member;
  }

  World world{1};
  SimRuntime& process = world.AddProcess("client");
  store::Session session;
  store::Store store{session, {.scheme = {SchemeKind::kRs, 2, 1, 2}}};
  Value value;
};

TEST_CASE("a plain item can be read as it is, and is left alone") {
  Fixture f(false);
  CHECK(f.Get().error().code() == StatusCode::kNotManaged);
  const auto plain = net::SyncWait(f.process, f.store.GetPlain("k", f.value));
  REQUIRE(plain.has_value());
  CHECK(f.value.text() == "plain");
  CHECK(plain->client_flags == 9);
  CHECK(plain->ttl == -1);
  CHECK(f.Put("k", "new").error().code() == StatusCode::kNotManaged);
  CHECK(net::SyncWait(f.process, f.store.GetPlain("other", f.value))
            .error()
            .code() == StatusCode::kNotFound);
}

// Grants all, or all that is waited for.
struct Room final : store::Memory {
  bool TryTake(std::uint64_t bytes) override {
    tried = bytes;
    held += scarce ? 0 : bytes;
    return !scarce;
  }
  net::Task<Status> Take(std::uint64_t bytes) override {
    held += bytes;
    co_return Status();
  }
  void Give(std::uint64_t bytes) override { held -= bytes; }

  bool scarce = false;
  std::uint64_t tried = 0;
  std::uint64_t held = 0;
};

TEST_CASE("a plain item is held within the memory that there is") {
  for (const bool scarce : {false, true}) {
    CAPTURE(scarce);
    Fixture f(false);
    Room room;
    room.scarce = scarce;
    REQUIRE(net::SyncWait(f.process, f.store.GetPlain("k", f.value, &room)));
    CHECK(room.tried > 0);
    CHECK(room.held == f.value.size());
    room.held = 0;
    CHECK_FALSE(
        net::SyncWait(f.process, f.store.GetPlain("other", f.value, &room)));
    CHECK(room.held == 0);
  }
}

TEST_CASE("a flush is of objects, and leaves a plain item alone") {
  Fixture f(false);
  REQUIRE(net::SyncWait(f.process, f.store.Flush(store::kAtOnce)).ok());
  CHECK(
      net::SyncWait(f.process, f.store.Get("other", f.value)).error().code() ==
      StatusCode::kNotFound);
  CHECK(net::SyncWait(f.process, f.store.GetPlain("k", f.value)).has_value());
}

TEST_CASE("a put makes an object of a plain item where that is wanted") {
  Fixture f(true);
  CHECK(f.Get().error().code() == StatusCode::kNotManaged);
  REQUIRE(f.Put("k", "new").has_value());
  REQUIRE(f.Get().has_value());
  CHECK(f.value.text() == "new");
}

// Invariant R1.
TEST_CASE("a plain item of before on a server that returns hides no object") {
  Fixture f(true);
  const int member = f.LoseFirst(
      [&f] { REQUIRE(f.Put("k", std::string(6000, 'n')).has_value()); });
  const store::BackfillTerms terms;
  const std::vector<int> members = {member};
  const auto report =
      net::SyncWait(f.process, store::Backfill(f.session, members, terms));
  REQUIRE(report.has_value());
  CHECK(report->blocks > 0);
  const Result<GetInfo> info = f.Get();
  REQUIRE(info.has_value());
  CHECK(!info->degraded);
}

TEST_CASE("where there is no object a returning server keeps a plain item") {
  Fixture f(false);
  const int member = f.LoseFirst([] {});
  REQUIRE(
      net::SyncWait(f.process, store::BeginBackfill(f.session, member)).ok());
  CHECK(f.Put("k", "new").error().code() == StatusCode::kNotManaged);
  const auto plain = net::SyncWait(f.process, f.store.GetPlain("k", f.value));
  REQUIRE(plain.has_value());
  CHECK(f.value.text() == "plain");
}

}  // namespace
}  // namespace ers::sim
