// Fencing in the simulated world: a change that was prepared before it, in
// another process, is refused afterwards.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "net/task.h"
#include "sim/world/sim_client.h"
#include "sim/world/sim_world.h"
#include "store/replicas/replica_set.h"

namespace ers::sim {
namespace {

constexpr int kServers = 4;

store::Manifest Changed(SimClient& client, const store::ReplicasRead& base) {
  store::Manifest next = *base.primary().manifest;
  next.id = client.session.NewChangeId();
  return next;
}

// Invariant G3.
TEST_CASE("a change that was prepared before its key was fenced is refused") {
  const bool fences = GENERATE(true, false);
  World world(1);
  const std::string servers = world.AddServers(kServers);
  SimClient one(world, servers, "one");
  SimClient other(world, servers, "other");
  REQUIRE(one.Put().ok());
  REQUIRE(other.Begin().ok());

  store::ReplicaSet changed(one.session, "key");
  const auto base = net::SyncWait(one.process, changed.Prepare());
  REQUIRE(base);
  if (fences) {
    store::ReplicaSet fenced(other.session, "key");
    REQUIRE(net::SyncWait(other.process, fenced.reconciler().Fence()));
  }
  const store::CommitResult result = net::SyncWait(
      one.process, changed.committer().Commit(*base, Changed(one, *base)));
  CHECK(result.fate == (fences ? store::CommitFate::kNotHappened
                               : store::CommitFate::kCommitted));

  // What is there can be changed again.
  const auto again = net::SyncWait(one.process, changed.Prepare());
  REQUIRE(again);
  CHECK((again->primary().shown() == base->primary().shown()) == fences);
  CHECK(net::SyncWait(one.process,
                      changed.committer().Commit(*again, Changed(one, *again)))
            .fate == store::CommitFate::kCommitted);
}

}  // namespace
}  // namespace ers::sim
