// Clients of one cluster that take turns on one thread: only one of their loops
// runs at a time.
#include <algorithm>
#include <chrono>

#include "cluster/store/stored_items.h"

namespace ers::test {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<Client> ClientOf(const std::shared_ptr<Cluster>& cluster) {
  auto client = Client::Open(cluster, {.scheme = {SchemeKind::kRs, 2, 1, 2}});
  REQUIRE_OK(client);
  return std::move(*client);
}

void GetUntil(Client& client, Clock::time_point end) {
  while (Clock::now() < end) (void)MustGet(client, "key");
}

// A sign of life begins with a call of the first client and is not answered by
// one server, so it is under way when the call has what it was asked for. The
// lease runs out while the second one works, and its next sign of life waits
// for the first.
TEST_CASE("a client that is not in a call keeps no other waiting") {
  TestCluster servers(4);
  servers.SetPatience(std::chrono::seconds(3));
  ClusterOptions options = servers.Options();
  options.max_failures = 1;
  auto cluster = Cluster::Open(options);
  REQUIRE_OK(cluster);
  const std::unique_ptr<Client> first = ClientOf(*cluster);
  const std::unique_ptr<Client> second = ClientOf(*cluster);
  REQUIRE_OK(first->Put("key", Bytes(100, 1), {}));
  const auto detail = first->Stat("key");
  REQUIRE_OK(detail);
  for (int i = 0; i < servers.size(); ++i) {
    const std::string name = servers.server(i).endpoint().name();
    if (std::find(detail->replicas.begin(), detail->replicas.end(), name) ==
        detail->replicas.end()) {
      servers.server(i).Pause();
      break;
    }
  }
  // Long enough for a sign of life to begin, too short for a wait to end.
  GetUntil(*first, Clock::now() + std::chrono::milliseconds(700));
  // Longer than a lease.
  GetUntil(*second, Clock::now() + std::chrono::milliseconds(2500));
  REQUIRE_OK(second->Put("key", Bytes(100, 2), {}));
  CHECK(MustGet(*first, "key") == Bytes(100, 2));
}

}  // namespace
}  // namespace ers::test
