// Parity that is added and dropped: what moves, as the servers count it, and
// what does not.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "cluster/store/stored_items.h"
#include "cluster/store/test_cluster.h"
#include "plan/planners.h"

namespace ers::test {
namespace {

Scheme With(Scheme scheme, int m) {
  scheme.m = m;
  return scheme;
}

Result<TransitionInfo> MoveTo(Client& client, const Scheme& scheme) {
  return client.Transition("key", {.width = {}, .scheme = scheme},
                           TransitionVariant::kOptimal);
}

// The keys of all blocks that are there, by server.
std::set<std::string> PlacesOf(TestCluster& cluster, Client& client) {
  std::set<std::string> places;
  for (const StoredBlock& block : BlocksOf(cluster, client, "key")) {
    if (!block.state.present) continue;
    places.insert(block.state.server + " " + block.key);
  }
  return places;
}

bool Holds(const std::set<std::string>& all,
           const std::set<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// The nodes of the first group that dead servers are.
plan::Missing DeadNodes(TestCluster& cluster, Client& client,
                        const std::vector<int>& dead) {
  std::set<std::string> names;
  for (const int i : dead) {
    names.insert(cluster.server(i).endpoint().name());
  }
  plan::Missing missing;
  const auto info = client.Servers();
  REQUIRE_OK(info);
  const auto nodes = PrimaryManifest(cluster, client, "key").nodes;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (names.contains(info->servers[nodes[node]].name)) {
      missing.dead_nodes.push_back(static_cast<int>(node));
    }
  }
  return missing;
}

// Groups of 15,872 bytes a block.
const std::vector<std::string> kSmallItems = {
    "-m", "64", "-I", "16k", "-o", "slab_chunk_max=8192"};

struct Change {
  const char* scheme;  // with `less` parity blocks
  Width width;
  int more;
  std::size_t bytes;
  std::vector<std::string> arguments;
};

// Up and down again; `c` has been stored by `client` under its smaller m.
void AddAndDrop(const Change& c, TestCluster& cluster, Client& client,
                const ObjectInfo& put) {
  const Scheme few = ParseScheme(c.scheme).value();
  const Scheme many = With(few, c.more);
  const layout::Geometry geometry(many);
  const auto plan =
      plan::PlanTransition(geometry, {{c.width, few.m}, {c.width, c.more}},
                           TransitionVariant::kOptimal, {});
  REQUIRE(plan.has_value());
  const auto stripes = static_cast<std::size_t>(geometry.stripe_count(c.width));
  CHECK(plan->writes.size() ==
        stripes * static_cast<std::size_t>(c.more - few.m));
  CHECK(plan->reads.size() == static_cast<std::size_t>(geometry.data_blocks()));
  const auto groups = static_cast<std::uint64_t>(put.groups);
  const auto first = PlacesOf(cluster, client);
  const std::vector<std::byte> value = MustGet(client, "key");
  const long replicas = c.more + 1;

  Served before = CountServed(cluster);
  const auto added = MoveTo(client, many);
  REQUIRE_OK(added);
  // The servers saw the same, and one read and one write per replica more.
  CHECK(ServedAlone(before, CountServed(cluster),
                    static_cast<long>(added->data_reads) + replicas,
                    static_cast<long>(added->writes) + replicas));
  CHECK(added->path == TransitionPath::kParity);
  CHECK(added->object.scheme == many);
  CHECK(added->object.width == c.width);
  CHECK(added->object.cas == put.cas);
  CHECK(added->data_reads == groups * plan->reads.size());
  CHECK(added->parity_reads == 0);
  CHECK(added->writes == groups * plan->writes.size());
  const auto grown = PlacesOf(cluster, client);
  CHECK(Holds(grown, first));
  CHECK(grown.size() == first.size() + added->writes);

  const auto again = MoveTo(client, many);
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().code() == StatusCode::kAlreadyThere);

  before = CountServed(cluster);
  const auto dropped = MoveTo(client, few);
  REQUIRE_OK(dropped);
  CHECK(ServedAlone(before, CountServed(cluster), replicas, replicas));
  CHECK(dropped->path == TransitionPath::kParity);
  CHECK(dropped->data_reads + dropped->parity_reads + dropped->writes == 0);
  CHECK(PlacesOf(cluster, client) == first);
  REQUIRE(MustGet(client, "key") == value);

  // And up once more, so that the parity is checked afterwards.
  REQUIRE_OK(MoveTo(client, many));
  CHECK(Holds(PlacesOf(cluster, client), first));
}

// Blocks of the object and nothing else: no manifest, view or boot mark.
std::size_t BlocksOnServers(TestCluster& cluster) {
  std::size_t blocks = 0;
  for (int i = 0; i < cluster.size(); ++i) {
    std::string keys;
    do {  // until its crawler has no other work: BUSY, and it closes
      keys =
          cluster.server(i).Ask("lru_crawler metadump hash\r\nquit\r\n", "END");
    } while (keys.starts_with("BUSY"));
    for (std::size_t at = keys.find("key=ers%21b"); at != std::string::npos;
         at = keys.find("key=ers%21b", at + 1)) {
      blocks += keys.compare(at, 15, "key=ers%21boot ") == 0 ? 0 : 1;
    }
  }
  return blocks;
}

}  // namespace

TEST_CASE("parity comes and goes, and no other block moves") {
  const Change c = GENERATE(values<Change>({
      {"ers2:4,1,5", Width::kNarrow, 2, 100003, {"-m", "64"}},
      {"ers2:4,1,5", Width::kWide, 3, 100003, {"-m", "64"}},
      {"ers2:12,3,14", Width::kNarrow, 4, 100003, {"-m", "64"}},
      {"ers1:4,2,6", Width::kWide, 4, 100003, {"-m", "64"}},
      {"srs:4,2,5", Width::kNarrow, 3, 100003, {"-m", "64"}},
      {"srs:4,1,5", Width::kWide, 2, 100003, {"-m", "64"}},
      {"rs:5,2", Width::kNarrow, 3, 100003, {"-m", "64"}},
      {"rep:2", Width::kNarrow, 3, 100003, {"-m", "64"}},
      // Several groups, which go round the servers.
      {"ers2:4,2,5", Width::kWide, 3, 1200007, kSmallItems},
      {"rs:3,1", Width::kNarrow, 2, 250007, kSmallItems},
  }));
  CAPTURE(c.scheme, static_cast<int>(c.width), c.more);
  const Scheme few = ParseScheme(c.scheme).value();
  TestCluster cluster(few.kp + c.more + 2, c.arguments);
  auto client = cluster.Open(few, c.more);
  const std::vector<std::byte> value = Bytes(c.bytes, 8);
  PutOptions options;
  options.width = c.width;
  const auto put = client->Put("key", value, options);
  REQUIRE_OK(put);
  AddAndDrop(c, cluster, *client, *put);
  // The client's end waits for what it drops.
  const std::size_t named = PlacesOf(cluster, *client).size();
  client.reset();
  CHECK(BlocksOnServers(cluster) == named);
  // The parity is what decoding takes it for: as many servers die as it allows.
  for (int i = 0; i < c.more; ++i) cluster.server(i).Kill();
  client = cluster.Open(few, c.more);
  REQUIRE(MustGet(*client, "key") == value);
}

TEST_CASE("parity is added while servers are dead, by the degraded plan") {
  const auto width = GENERATE(Width::kNarrow, Width::kWide);
  const Scheme few = ParseScheme("ers2:4,1,5").value();
  const Scheme many = With(few, 2);
  for (int victim = 0; victim < 7; ++victim) {
    CAPTURE(static_cast<int>(width), victim);
    TestCluster cluster(7, {"-m", "64"});
    auto client = cluster.Open(few, 2);
    const std::vector<std::byte> value = Bytes(50021, 9);
    PutOptions options;
    options.width = width;
    REQUIRE_OK(client->Put("key", value, options));
    const plan::Missing missing = DeadNodes(cluster, *client, {victim});
    REQUIRE(missing.dead_nodes.size() == 1);
    cluster.server(victim).Kill();
    REQUIRE(MustGet(*client, "key") == value);
    // A write to it finds it dead, and stores a new view.
    PutOptions everywhere;
    everywhere.scheme = {SchemeKind::kRs, 6, 1, 6};
    REQUIRE_OK(client->Put("other", value, everywhere));
    const auto plan = plan::PlanTransition(
        layout::Geometry(many), {{width, few.m}, {width, many.m}},
        TransitionVariant::kOptimal, missing);
    REQUIRE(plan.has_value());
    const plan::ReadCount reads =
        plan::CountReads(layout::Geometry(many), *plan);
    const Served before = CountServed(cluster);
    const auto added = MoveTo(*client, many);
    const Served after = CountServed(cluster);
    REQUIRE_OK(added);
    CHECK(added->path == TransitionPath::kParity);
    CHECK(added->data_reads == static_cast<std::uint64_t>(reads.data));
    CHECK(added->parity_reads == static_cast<std::uint64_t>(reads.parity));
    CHECK(added->writes == plan->writes.size());
    const auto replicas =
        static_cast<long>(ReplicasOf(cluster, *client, "key").size());
    CHECK(ServedAlone(before, after, reads.total() + replicas,
                      static_cast<long>(added->writes) + replicas));
    REQUIRE(MustGet(*client, "key") == value);
    // One more may die now.
    cluster.server((victim + 3) % 7).Kill();
    REQUIRE(MustGet(*client, "key") == value);
    auto late = cluster.Open(few, 2);
    REQUIRE(MustGet(*late, "key") == value);
  }
}

TEST_CASE("parity is added on servers that were out when the value came") {
  const Scheme few = ParseScheme("rs:3,1").value();
  TestCluster cluster(5, kSmallItems);
  auto client = cluster.Open(few, 2);
  cluster.server(2).Kill();
  // A write to it finds it dead.
  PutOptions everywhere;
  everywhere.scheme = {SchemeKind::kRs, 4, 1, 4};
  REQUIRE_OK(client->Put("other", Bytes(20000, 1), everywhere));
  const std::vector<std::byte> value = Bytes(250007, 10);
  const auto put = client->Put("key", value, {});
  REQUIRE_OK(put);
  REQUIRE(put->groups > 4);
  REQUIRE(PrimaryManifest(cluster, *client, "key").nodes.size() == 4);
  const auto first = PlacesOf(cluster, *client);
  const auto added = MoveTo(*client, With(few, 2));
  REQUIRE_OK(added);
  CHECK(added->path == TransitionPath::kParity);
  CHECK(added->writes == 0);  // no server to write to
  const store::Manifest manifest = PrimaryManifest(cluster, *client, "key");
  CHECK(manifest.nodes.size() == 5);
  CHECK(manifest.ring == 4);
  CHECK(PlacesOf(cluster, *client) == first);
  REQUIRE(MustGet(*client, "key") == value);
  cluster.server(0).Kill();
  REQUIRE(MustGet(*client, "key") == value);
}

TEST_CASE("parity that dead servers make necessary is not dropped") {
  const Scheme many = ParseScheme("ers2:4,2,5").value();
  TestCluster cluster(7, {"-m", "64"});
  auto client = cluster.Open(many, 2);
  const std::vector<std::byte> value = Bytes(50021, 11);
  REQUIRE_OK(client->Put("key", value, {}));
  const auto blocks = PlacesOf(cluster, *client);
  // A data block and the parity that would be left.
  std::map<int, std::string> at;
  for (const StoredBlock& block : BlocksOf(cluster, *client, "key")) {
    at[block.state.node] = block.state.server;
  }
  cluster.Named(at[0]).Kill();
  cluster.Named(at[5]).Kill();
  REQUIRE(MustGet(*client, "key") == value);
  const auto refused = MoveTo(*client, With(many, 1));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == StatusCode::kUnavailable);
  REQUIRE(MustGet(*client, "key") == value);
  const auto info = client->Stat("key");
  REQUIRE_OK(info);
  CHECK(info->scheme == many);
}

TEST_CASE("more parity than the cluster's M, or its servers, is refused") {
  const Scheme few = ParseScheme("rs:3,1").value();
  TestCluster cluster(5, {"-m", "64"});
  auto client = cluster.Open(few, 2);
  const std::vector<std::byte> value = Bytes(10007, 12);
  REQUIRE_OK(client->Put("key", value, {}));
  const auto over = MoveTo(*client, With(few, 3));
  REQUIRE_FALSE(over.has_value());
  CHECK(over.error().code() == StatusCode::kInvalidArgument);
  REQUIRE_OK(client->Put("key", value,
                         {.scheme = With({SchemeKind::kRs, 4, 1, 4}, 1)}));
  const auto wide = MoveTo(*client, {SchemeKind::kRs, 4, 2, 4});
  REQUIRE_FALSE(wide.has_value());
  CHECK(wide.error().code() == StatusCode::kInvalidArgument);
  CHECK(wide.error().message().find("6 servers") != std::string::npos);
  REQUIRE(MustGet(*client, "key") == value);
}

TEST_CASE("width and parity change in one step, and no data block moves") {
  const auto [text, less, more, unit] =
      GENERATE(table<const char*, int, int, Unit>(
          {{"ers2:4,1,5", 1, 2, Unit::kBlocks},
           {"ers2:4,1,5", 1, 3, Unit::kColumns},
           {"ers2:12,1,14", 2, 3, Unit::kBlocks},
           {"ers1:4,1,6", 2, 3, Unit::kColumns},
           {"srs:4,1,5", 1, 2, Unit::kBlocks},
           {"ers:4-6-12,1", 1, 2, Unit::kBlocks},
           {"ers:4-6-12,1", 1, 2, Unit::kColumns}}));
  CAPTURE(text, less, more, UnitName(unit));
  const Scheme few = With(ParseScheme(text).value(), less);
  TestCluster cluster(few.kp + more, {"-m", "64"});
  auto client =
      cluster.Open(few, more, 0, unit == Unit::kColumns ? kMaxColumnBelow : 0);
  const std::vector<std::byte> value = Bytes(100003, 13);
  const auto put = client->Put("key", value, {});
  REQUIRE_OK(put);
  REQUIRE(put->unit == unit);
  const layout::Geometry geometry(With(few, more), unit);
  const auto data = [&] {
    std::set<std::string> places;
    for (const StoredBlock& block : BlocksOf(cluster, *client, "key")) {
      if (block.state.kind != StoredBlockKind::kData) continue;
      CHECK(block.state.present);
      places.insert(block.state.server + " " + block.key);
    }
    return places;
  };
  const std::set<std::string> first = data();
  const long replicas = more + 1;
  for (const bool widens : {true, false}) {
    const plan::Form narrow{Width::kNarrow, less};
    const plan::Form wide{Width::kWide, more};
    const plan::FormChange change = widens ? plan::FormChange{narrow, wide}
                                           : plan::FormChange{wide, narrow};
    const auto plan =
        plan::PlanTransition(geometry, change, TransitionVariant::kOptimal, {});
    const plan::ReadCount reads = plan::CountReads(geometry, *plan);
    TransitionTarget target;
    target.width = change.to.width;
    target.parity_blocks = change.to.m;
    const Served before = CountServed(cluster);
    const auto moved =
        client->Transition("key", target, TransitionVariant::kOptimal);
    REQUIRE_OK(moved);
    // The servers saw the same, and one read and one write per replica more.
    CHECK(ServedAlone(before, CountServed(cluster), reads.total() + replicas,
                      static_cast<long>(plan->writes.size()) + replicas));
    CHECK(moved->path == TransitionPath::kPlan);
    CHECK(moved->object.scheme == With(few, change.to.m));
    CHECK(moved->object.width == change.to.width);
    CHECK(moved->object.cas == put->cas);
    CHECK(moved->data_reads == static_cast<std::uint64_t>(reads.data));
    CHECK(moved->parity_reads == static_cast<std::uint64_t>(reads.parity));
    CHECK(moved->writes == plan->writes.size());
    CHECK(data() == first);
    REQUIRE(MustGet(*client, "key") == value);
  }
  // What is dropped is: the client's end waits for it.
  const std::size_t named = PlacesOf(cluster, *client).size();
  TransitionTarget target;
  target.width = Width::kWide;
  target.parity_blocks = more;
  REQUIRE_OK(client->Transition("key", target, TransitionVariant::kOptimal));
  REQUIRE_OK(client->Transition("key", {.width = Width::kNarrow, .scheme = few},
                                TransitionVariant::kOptimal));
  client.reset();
  CHECK(BlocksOnServers(cluster) == named);
  client = cluster.Open(few, more);
  REQUIRE_OK(client->Transition("key", target, TransitionVariant::kOptimal));
  // The parity is what decoding takes it for.
  for (int i = 0; i < more; ++i) cluster.server(i).Kill();
  REQUIRE(MustGet(*client, "key") == value);
}

TEST_CASE("a small value's parity is a matter of its manifest") {
  const Scheme few = ParseScheme("ers2:4,1,5").value();
  TestCluster cluster(7, {"-m", "64"});
  auto client = cluster.Open(few, 2, 4096);
  const std::vector<std::byte> value = Bytes(100, 14);
  REQUIRE_OK(client->Put("key", value, {}));
  for (const int m : {2, 1}) {
    const auto moved = MoveTo(*client, With(few, m));
    REQUIRE_OK(moved);
    CHECK(moved->path == TransitionPath::kParity);
    CHECK(moved->writes == 0);
    CHECK(moved->object.is_inline);
    REQUIRE(MustGet(*client, "key") == value);
  }
  const auto both =
      client->Transition("key", {.width = Width::kWide, .scheme = With(few, 2)},
                         TransitionVariant::kOptimal);
  REQUIRE_OK(both);
  CHECK(both->path == TransitionPath::kPlan);
  CHECK(both->object.is_inline);
  CHECK(both->object.width == Width::kWide);
  REQUIRE(MustGet(*client, "key") == value);
}

}  // namespace ers::test
