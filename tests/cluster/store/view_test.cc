// The view over the lives of processes and servers: what is fixed, what is
// remembered, and what is never mistaken for a miss.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "cluster/store/stored_items.h"
#include "store/format/keys.h"

namespace ers::test {
namespace {

const Scheme kScheme{SchemeKind::kErs2, 4, 1, 5};

// A state file's path in a folder of its own, removed at the end.
class StateFile {
 public:
  StateFile() {
    // mkdtemp fills in the Xs.
    char folder[] = "/tmp/state-test-XXXXXX";
    REQUIRE(mkdtemp(folder) != nullptr);
    folder_ = folder;
  }
  ~StateFile() { std::filesystem::remove_all(folder_); }
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  std::string path() const { return folder_ + "/view"; }

 private:
  std::string folder_;
};

std::unique_ptr<Client> OpenWith(ClusterOptions options) {
  auto cluster = Cluster::Open(std::move(options));
  REQUIRE_OK(cluster);
  auto client = Client::Open(*cluster, {.scheme = kScheme, .inline_below = 0});
  REQUIRE_OK(client);
  return std::move(*client);
}

std::unique_ptr<Client> OpenWithFile(const TestCluster& cluster,
                                     const StateFile& file) {
  ClusterOptions options = cluster.Options();
  options.state_file = file.path();
  return OpenWith(std::move(options));
}

ClusterInfo MustInfo(Client& client) {
  auto info = client.Servers();
  REQUIRE_OK(info);
  return std::move(*info);
}

MemberState StateOf(const ClusterInfo& info, MemcachedProcess& server) {
  const auto at = std::find_if(info.servers.begin(), info.servers.end(),
                               [&](const ServerInfo& member) {
                                 return member.name == server.endpoint().name();
                               });
  REQUIRE(at != info.servers.end());
  return at->state;
}

Status StatusOfGet(Client& client, const std::string& key) {
  Value value;
  const auto got = client.Get(key, value);
  if (got) return {};
  CHECK(value.size() == 0);
  return got.error();
}

// Its connections were closed when the servers ended; it tries them again one
// after the other, with pauses, and until then all of them are out.
std::vector<std::byte> GetOnceBack(Client& client, const std::string& key) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (StatusOfGet(client, key).code() == StatusCode::kUnavailable &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return MustGet(client, key);
}

// What every call that needs `key` or a place for it says.
std::map<std::string, Status> StatusOfAll(Client& client,
                                          const std::string& key) {
  const auto of = [](const auto& result) {
    return result ? Status() : result.error();
  };
  Value value;
  const auto source = [](std::span<std::byte>) -> Result<std::size_t> {
    return 0;
  };
  const auto begin = [](const GetInfo&) { FAIL("a stream began"); };
  const auto sink = [](std::span<const std::byte>) { return Status(); };
  const auto visit = [](std::string_view, const ObjectInfo&) { return true; };
  const TransitionTarget wide{.width = Width::kWide, .scheme = {}};
  const auto variant = TransitionVariant::kOptimal;
  std::map<std::string, Status> all;
  all["get"] = of(client.Get(key, value));
  all["range"] = of(client.GetRange(key, 3, 5, value));
  all["stream"] = of(client.GetTo(key, begin, sink));
  all["stat"] = of(client.Stat(key));
  all["put"] = of(client.Put(key, Bytes(100, 1), {}));
  all["update"] = of(client.Update(key, 1, Bytes(5, 1)));
  all["append"] = of(client.Append(key, source));
  all["transition"] = of(client.Transition(key, wide, variant));
  all["delete"] = client.Delete(key);
  all["list"] = client.List(visit);
  CHECK(value.size() == 0);
  return all;
}

void CheckAllAre(StatusCode code, Client& client, const std::string& key) {
  for (const auto& [call, status] : StatusOfAll(client, key)) {
    CAPTURE(call, status.message());
    CHECK(status.code() == code);
  }
}

// The right bytes or an error, never a miss: kUnavailable, or once servers have
// waited for each other long enough, what says that blocks are lost.
void CheckNoMiss(Client& client, const std::string& key,
                 const std::vector<std::byte>& value) {
  Value got;
  const auto read = client.Get(key, got);
  CAPTURE(key);
  if (read) {
    CHECK(std::equal(got.bytes().begin(), got.bytes().end(), value.begin(),
                     value.end()));
    return;
  }
  const std::string& message = read.error().message();
  CAPTURE(message);
  CHECK((read.error().code() == StatusCode::kUnavailable ||
         message.find("more blocks are gone") != std::string::npos));
  CHECK(got.size() == 0);
}

StoredItem ViewRecord(TestCluster& cluster, int server) {
  return {&cluster.server(server), std::string(store::kViewKey)};
}

}  // namespace

TEST_CASE("a state file outlives its process and knows more than old records") {
  TestCluster cluster(6);
  const StateFile file;
  const std::vector<std::byte> value = Bytes(20000, 1);
  auto client = OpenWithFile(cluster, file);
  REQUIRE_OK(client->Put("key", value, {}));
  const std::uint64_t epoch = MustInfo(*client).epoch;
  const std::string first = ViewRecord(cluster, 1).Read();
  cluster.server(0).Kill();
  REQUIRE_OK(client->Put("key", value, {}));
  client.reset();

  const auto check_second_view = [&](Client& reader) {
    const ClusterInfo info = MustInfo(reader);
    CHECK(info.epoch == epoch + 1);
    CHECK(info.max_failures == 1);
    CHECK(StateOf(info, cluster.server(0)) == MemberState::kDown);
    for (int i = 1; i < cluster.size(); ++i) {
      CHECK(StateOf(info, cluster.server(i)) == MemberState::kInSync);
    }
    CHECK(MustGet(reader, "key") == value);
  };
  check_second_view(*OpenWithFile(cluster, file));
  check_second_view(*OpenWith(cluster.Options()));

  // Only an older record is left on the servers: the file is right.
  for (int i = 1; i < cluster.size(); ++i) {
    ViewRecord(cluster, i).Write(first);
  }
  check_second_view(*OpenWithFile(cluster, file));

  // None is left, and not all servers answer.
  for (int i = 1; i < cluster.size(); ++i) ViewRecord(cluster, i).Delete();
  CHECK(StatusOfGet(*OpenWith(cluster.Options()), "key").code() ==
        StatusCode::kUnavailable);
  check_second_view(*OpenWithFile(cluster, file));
  // The process that has the file has informed the others.
  check_second_view(*OpenWith(cluster.Options()));
}

TEST_CASE("a damaged state file is an error that names it") {
  TestCluster cluster(6);
  const StateFile file;
  REQUIRE_OK(OpenWithFile(cluster, file)->Put("key", Bytes(9, 1), {}));
  {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out);
    bytes.seekp(20);
    bytes.put('x');
  }
  const auto client = OpenWithFile(cluster, file);
  const Status status = StatusOfGet(*client, "key");
  CHECK(status.code() == StatusCode::kIncompatible);
  CHECK(status.message().find(file.path()) != std::string::npos);
}

TEST_CASE("M is fixed when the cluster is first used") {
  TestCluster cluster(6);
  REQUIRE_OK(OpenWith(cluster.Options())->Put("key", Bytes(9, 1), {}));
  for (const int wanted : {0, 1}) {
    ClusterOptions options = cluster.Options();
    options.max_failures = wanted;
    const auto client = OpenWith(options);
    CHECK(StatusOfGet(*client, "key").ok());
    CHECK(MustInfo(*client).max_failures == 1);
  }
  for (const int wanted : {2, 5}) {
    CAPTURE(wanted);
    ClusterOptions options = cluster.Options();
    options.max_failures = wanted;
    const auto client = OpenWith(options);
    CheckAllAre(StatusCode::kIncompatible, *client, "key");
    CHECK(StatusOfGet(*client, "key").message().find("max_failures") !=
          std::string::npos);
  }
}

TEST_CASE("another list of servers is refused, another order is not") {
  TestCluster cluster(7);
  const auto list = [&](std::vector<int> members, int heavy) {
    ClusterOptions options = cluster.Options();
    options.servers.clear();
    for (const int i : members) {
      if (!options.servers.empty()) options.servers += ',';
      options.servers += cluster.server(i).endpoint().name();
      if (i == heavy) options.servers += ":3";
    }
    return options;
  };
  const auto first = OpenWith(list({0, 1, 2, 3, 4, 5}, -1));
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(first->Put("key", value, {}));
  CHECK(MustGet(*OpenWith(list({5, 3, 1, 0, 2, 4}, -1)), "key") == value);
  for (const ClusterOptions& other :
       {list({0, 1, 2, 3, 4}, -1), list({0, 1, 2, 3, 4, 5, 6}, -1),
        list({0, 1, 2, 3, 4, 6}, -1), list({0, 1, 2, 3, 4, 5}, 2)}) {
    CAPTURE(other.servers);
    const auto client = OpenWith(other);
    CheckAllAre(StatusCode::kIncompatible, *client, "key");
    // The message names the list to use.
    const std::string message = StatusOfGet(*client, "key").message();
    for (int i = 0; i < 6; ++i) {
      CHECK(message.find(cluster.server(i).endpoint().name()) !=
            std::string::npos);
    }
  }
  CHECK(MustGet(*first, "key") == value);
}

TEST_CASE("where all memory is lost a new view begins") {
  TestCluster cluster(6);
  const StateFile file;
  const std::vector<std::byte> value = Bytes(20000, 1);
  auto living = OpenWithFile(cluster, file);
  REQUIRE_OK(living->Put("key", value, {}));
  const std::uint64_t epoch = MustInfo(*living).epoch;
  for (int i = 0; i < cluster.size(); ++i) cluster.server(i).Restart();

  // Another M or list would be as wrong as before.
  ClusterOptions other = cluster.Options();
  other.state_file = file.path();
  other.max_failures = 2;
  CHECK(StatusOfGet(*OpenWith(other), "key").code() ==
        StatusCode::kIncompatible);

  TestCluster strange(6);
  ClusterOptions mixed_up = strange.Options();
  mixed_up.state_file = file.path();
  CHECK(StatusOfGet(*OpenWith(mixed_up), "key").code() ==
        StatusCode::kIncompatible);

  auto fresh = OpenWithFile(cluster, file);
  CHECK(StatusOfGet(*fresh, "key").code() == StatusCode::kNotFound);
  const ClusterInfo info = MustInfo(*fresh);
  CHECK(info.epoch > epoch);
  for (int i = 0; i < cluster.size(); ++i) {
    CHECK(StateOf(info, cluster.server(i)) == MemberState::kInSync);
  }
  REQUIRE_OK(fresh->Put("key", value, {}));
  cluster.server(3).Kill();
  for (const auto& client :
       {OpenWithFile(cluster, file), OpenWith(cluster.Options())}) {
    CHECK(MustGet(*client, "key") == value);
    CHECK(MustInfo(*client).epoch >= info.epoch);
  }
  // A process that went by the old view goes on in the new one.
  CHECK(GetOnceBack(*living, "key") == value);
}

TEST_CASE("without a state file lost memory is a cluster never used") {
  TestCluster cluster(6);
  REQUIRE_OK(OpenWith(cluster.Options())->Put("key", Bytes(99, 1), {}));
  for (int i = 0; i < cluster.size(); ++i) cluster.server(i).Restart();
  const auto client = OpenWith(cluster.Options());
  const Status status = StatusOfGet(*client, "key");
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("'key'") != std::string::npos);
  CHECK(MustInfo(*client).epoch == 0);
  REQUIRE_OK(client->Put("key", Bytes(99, 2), {}));
  CHECK(MustInfo(*client).epoch > 0);
  CHECK(MustGet(*client, "key") == Bytes(99, 2));
}

TEST_CASE("a restarted server stays out, and its empty memory is no miss") {
  for (const int i : {0, 3, 5}) {
    CAPTURE(i);
    TestCluster cluster(6, {"-m", "16"});
    const auto living = cluster.Open(kScheme);
    const std::vector<std::byte> value = Bytes(20000, 1);
    const std::vector<std::string> keys = {"a", "b", "c"};
    for (const std::string& key : keys) {
      REQUIRE_OK(living->Put(key, value, {}));
    }
    cluster.server(i).Restart();
    const auto fresh = cluster.Open(kScheme);
    for (Client* client : {fresh.get(), living.get()}) {
      for (const std::string& key : keys) CHECK(MustGet(*client, key) == value);
    }
    REQUIRE_OK(fresh->Put("a", value, {}));
    const std::string name = cluster.server(i).endpoint().name();
    for (const ServerInfo& server : MustInfo(*fresh).servers) {
      if (server.name != name) continue;
      CHECK_FALSE(server.reachable);
      CHECK(server.last_error.find("restarted") != std::string::npos);
    }
    const auto detail = fresh->Stat("a");
    REQUIRE_OK(detail);
    for (const BlockState& block : detail->blocks) {
      CHECK(block.present == (block.server != name));
    }
    // Another one is more than the cluster survives: bytes or an error.
    cluster.server((i + 1) % 6).Restart();
    const auto late = cluster.Open(kScheme);
    for (Client* client : {late.get(), fresh.get(), living.get()}) {
      for (const std::string& key : keys) CheckNoMiss(*client, key, value);
    }
  }
}

TEST_CASE("a scheme with m above M is refused, and the object stays") {
  TestCluster cluster(8);
  const auto client = cluster.Open(kScheme, 1, 4096);
  const std::vector<std::byte> small = Bytes(100, 1);
  const std::vector<std::byte> large = Bytes(20000, 2);
  REQUIRE_OK(client->Put("small", small, {}));
  REQUIRE_OK(client->Put("large", large, {}));
  const auto check = [](const auto& result, const char* scheme) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == StatusCode::kInvalidArgument);
    CHECK(result.error().message().find(scheme) != std::string::npos);
    CHECK(result.error().message().find("max_failures") != std::string::npos);
  };
  for (const char* name : {"rep:3", "rs:4,2", "ers2:4,3,5"}) {
    CAPTURE(name);
    PutOptions options;
    options.scheme = *ParseScheme(name);
    const TransitionTarget target = *ParseTransitionTarget(name);
    for (const char* key : {"small", "large"}) {
      CAPTURE(key);
      check(client->Put(key, small, options), name);
      check(client->Put(key, large, options), name);
      check(client->Transition(key, target, TransitionVariant::kOptimal), name);
    }
  }
  CHECK(MustGet(*client, "small") == small);
  CHECK(MustGet(*client, "large") == large);
  const auto stat = client->Stat("small");
  REQUIRE_OK(stat);
  CHECK(stat->scheme == kScheme);
  // What m allows goes on.
  const TransitionTarget rep2 = *ParseTransitionTarget("rep:2");
  for (const char* key : {"small", "large"}) {
    REQUIRE_OK(client->Transition(key, rep2, TransitionVariant::kOptimal));
  }
}

TEST_CASE("a deleted data block is written back by the next read") {
  TestCluster cluster(6);
  const auto client = cluster.Open(kScheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  for (const StoredBlock& block : BlocksOf(cluster, *client, "key")) {
    if (block.state.kind != StoredBlockKind::kData) continue;
    CAPTURE(block.state.block);
    const std::string bytes = block.Read();
    block.Delete();
    for (const int repaired : {1, 0}) {
      const auto fresh = cluster.Open(kScheme);
      Value got;
      const auto read = fresh->Get("key", got);
      REQUIRE_OK(read);
      CHECK(read->repaired_blocks == repaired);
      CHECK(read->degraded == (repaired == 1));
      CHECK(std::equal(got.bytes().begin(), got.bytes().end(), value.begin(),
                       value.end()));
      CHECK(block.Read() == bytes);
    }
  }
}

TEST_CASE("a process that starts with more than m servers dead never misses") {
  const auto [k, m, kp] =
      GENERATE(table<int, int, int>({{4, 1, 5}, {4, 2, 6}, {4, 3, 5}}));
  const Scheme scheme{SchemeKind::kErs2, k, m, kp};
  CAPTURE(FormatScheme(scheme));
  for (int first = 0; first < kp + m; first += 3) {
    TestCluster cluster(kp + m, {"-m", "16"});
    const std::vector<std::byte> value = Bytes(20000, 1);
    const std::vector<std::byte> small = Bytes(50, 2);
    const auto living = cluster.Open(scheme, m, 4096);
    REQUIRE_OK(living->Put("key", value, {}));
    REQUIRE_OK(living->Put("small", small, {}));
    for (int i = 0; i < m; ++i) {
      cluster.server((first + i) % cluster.size()).Kill();
    }
    const auto within = cluster.Open(scheme, m);
    CHECK(MustGet(*within, "key") == value);
    CHECK(MustGet(*within, "small") == small);
    cluster.server((first + m) % cluster.size()).Kill();
    for (const char* key : {"key", "small", "never-stored"}) {
      CheckAllAre(StatusCode::kUnavailable, *cluster.Open(scheme, m), key);
    }
    for (Client* client : {living.get(), within.get()}) {
      CheckNoMiss(*client, "key", value);
      CheckNoMiss(*client, "small", small);
    }
  }
}

TEST_CASE("more servers than a scheme needs: new values leave out the dead") {
  // Small items make several groups, which begin at different servers.
  const std::vector<std::string> arguments = {
      "-m", "16", "-I", "16k", "-o", "slab_chunk_max=8192"};
  const std::vector<std::byte> value = Bytes(1000003, 1);
  for (const int dead : {0, 3, 7}) {
    CAPTURE(dead);
    TestCluster cluster(8, arguments);
    const auto client = cluster.Open(kScheme);
    const auto put = client->Put("key", value, {});
    REQUIRE_OK(put);
    REQUIRE(put->groups > 3);
    cluster.server(dead).Kill();
    const auto fresh = cluster.Open(kScheme);
    for (Client* reader : {client.get(), fresh.get()}) {
      CHECK(MustGet(*reader, "key") == value);
    }
    // The old object goes on with blocks missing ...
    const TransitionTarget wide{.width = Width::kWide, .scheme = {}};
    REQUIRE_OK(fresh->Transition("key", wide, TransitionVariant::kOptimal));
    REQUIRE_OK(fresh->Update("key", 777777, Bytes(1000, 2)));
    // ... new ones are whole: the seven that are left do.
    REQUIRE_OK(fresh->Put("key", value, {}));
    REQUIRE_OK(fresh->Put("new", value, {}));
    for (const char* key : {"key", "new"}) {
      const auto detail = fresh->Stat(key);
      REQUIRE_OK(detail);
      for (const BlockState& block : detail->blocks) {
        CHECK(block.present);
        CHECK(block.server != cluster.server(dead).endpoint().name());
      }
      Value got;
      const auto read = cluster.Open(kScheme)->Get(key, got);
      REQUIRE_OK(read);
      CHECK_FALSE(read->degraded);
      CHECK(MustGet(*fresh, key) == value);
    }
    // One more is too many for this cluster, whatever the objects survive.
    cluster.server((dead + 3) % 8).Kill();
    CHECK(StatusOfGet(*cluster.Open(kScheme), "new").code() ==
          StatusCode::kUnavailable);
  }
}

}  // namespace ers::test
