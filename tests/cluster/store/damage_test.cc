// Items that were damaged behind the library's back.
#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "cluster/store/stored_items.h"
#include "store/format/block_header.h"

namespace ers::test {
namespace {

const Scheme kScheme{SchemeKind::kErs2, 4, 1, 5};

struct Reading {
  std::vector<std::byte> value;
  GetInfo info;
};

Reading ReadBy(Client& client) {
  Value value;
  const auto got = client.Get("key", value);
  REQUIRE_OK(got);
  return {{value.bytes().begin(), value.bytes().end()}, *got};
}

// The object's blocks, stripe by stripe (it has one group).
std::map<int, std::vector<StoredBlock>> Stripes(TestCluster& cluster,
                                                Client& client) {
  std::map<int, std::vector<StoredBlock>> stripes;
  for (StoredBlock& block : BlocksOf(cluster, client, "key")) {
    stripes[block.state.stripe].push_back(std::move(block));
  }
  return stripes;
}

StatusCode CodeOfGet(Client& client, const std::string& key) {
  Value value;
  const auto got = client.Get(key, value);
  return got.has_value() ? StatusCode::kOk : got.error().code();
}

}  // namespace

TEST_CASE("one changed byte of a data block is decoded around and repaired") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  int number = 0;
  for (const StoredBlock& block : BlocksOf(cluster, *client, "key")) {
    if (block.state.kind != StoredBlockKind::kData) continue;
    const std::string bytes = block.Read();
    // The first and last byte of the header and of the payload in turn.
    const std::size_t places[] = {0, store::kBlockHeaderBytes - 1,
                                  store::kBlockHeaderBytes, bytes.size() - 1};
    const std::size_t at = places[number++ % 4];
    CAPTURE(block.state.block, at);
    block.Flip(at);
    // Sizes do not show it: only the checksum can.
    for (const StoredBlock& any : BlocksOf(cluster, *client, "key")) {
      REQUIRE(any.state.present);
    }
    const Reading first = ReadBy(*cluster.Open(kScheme));
    REQUIRE(first.value == value);
    CHECK(first.info.degraded);
    CHECK(first.info.repaired_blocks == 1);
    CHECK(block.Read() == bytes);
    const Reading second = ReadBy(*cluster.Open(kScheme));
    REQUIRE(second.value == value);
    CHECK_FALSE(second.info.degraded);
    CHECK(second.info.repaired_blocks == 0);
  }
  CHECK(number == 20);
}

TEST_CASE("m changed blocks of a stripe are repaired, one more is an error") {
  const auto [name, width] =
      GENERATE(table<const char*, Width>({{"rep:3", Width::kNarrow},
                                          {"rs:4,2", Width::kNarrow},
                                          {"ers2:4,1,5", Width::kNarrow},
                                          {"ers2:4,1,5", Width::kWide},
                                          {"srs:4,2,6", Width::kWide},
                                          {"ers2:3,3,4", Width::kNarrow}}));
  CAPTURE(name, static_cast<int>(width));
  const Scheme scheme = *ParseScheme(name);
  TestCluster cluster(NodeCount(scheme), {"-m", "16"});
  auto client = cluster.Open(scheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  PutOptions options;
  options.width = width;
  REQUIRE_OK(client->Put("key", value, options));
  std::mt19937 random(7);
  const auto m = static_cast<std::size_t>(scheme.m);
  for (auto& [stripe, blocks] : Stripes(cluster, *client)) {
    CAPTURE(stripe);
    std::shuffle(blocks.begin(), blocks.end(), random);
    std::vector<std::string> before;
    for (std::size_t i = 0; i <= m; ++i) before.push_back(blocks[i].Read());
    const auto flip = [&](std::size_t i) {
      blocks[i].Flip(store::kBlockHeaderBytes + random() % 100);
    };
    int data = 0;
    for (std::size_t i = 0; i < m; ++i) {
      flip(i);
      data += blocks[i].state.kind == StoredBlockKind::kData ? 1 : 0;
    }
    const Reading repaired = ReadBy(*cluster.Open(scheme));
    REQUIRE(repaired.value == value);
    CHECK(repaired.info.repaired_blocks == data);
    CHECK(repaired.info.degraded == (data > 0));

    for (std::size_t i = 0; i <= m; ++i) {
      blocks[i].Write(before[i]);
      flip(i);
    }
    const auto fresh = cluster.Open(scheme);
    for (Client* reader : {client.get(), fresh.get()}) {
      Value got;
      const auto read = reader->Get("key", got);
      REQUIRE_FALSE(read.has_value());
      CHECK(read.error().code() == StatusCode::kCorruption);
      CHECK(read.error().message().find("'key'") != std::string::npos);
      CHECK(got.size() == 0);
    }
    for (std::size_t i = 0; i <= m; ++i) blocks[i].Write(before[i]);
    REQUIRE(ReadBy(*client).value == value);
  }
}

TEST_CASE("blocks that are gone beyond the redundancy are a miss") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  REQUIRE_OK(client->Put("key", Bytes(20000, 1), {}));
  const auto stripes = Stripes(cluster, *client);
  const std::vector<StoredBlock>& blocks = stripes.begin()->second;
  blocks[0].Delete();
  // Damage that alone is repaired does not make it an error.
  blocks[1].Delete();
  blocks[2].Flip(50);
  CHECK(CodeOfGet(*client, "key") == StatusCode::kNotFound);
}

TEST_CASE("what is damaged beyond reading can be overwritten and deleted") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  for (const StoredBlock& block : BlocksOf(cluster, *client, "key")) {
    block.Flip(60);
  }
  CHECK(CodeOfGet(*client, "key") == StatusCode::kCorruption);
  CHECK(client->Update("key", 10, Bytes(10, 2)).error().code() ==
        StatusCode::kCorruption);
  CHECK(client
            ->Transition("key", {.width = Width::kWide, .scheme = {}},
                         TransitionVariant::kOptimal)
            .error()
            .code() == StatusCode::kCorruption);
  REQUIRE_OK(client->Put("key", value, {}));
  CHECK(MustGet(*client, "key") == value);
  for (const StoredBlock& block : BlocksOf(cluster, *client, "key")) {
    block.Flip(60);
  }
  REQUIRE(client->Delete("key").ok());
  CHECK(CodeOfGet(*client, "key") == StatusCode::kNotFound);
}

TEST_CASE("a corrupted manifest is repaired from the other replica") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  const std::vector<StoredItem> replicas = ReplicasOf(cluster, *client, "key");
  REQUIRE(replicas.size() == 2);
  for (const StoredItem& replica : replicas) {
    replica.Flip(60);
    REQUIRE(MustGet(*cluster.Open(kScheme), "key") == value);
    REQUIRE_OK(client->Update("key", 3, Bytes(10, 2)));
    REQUIRE_OK(client->Update("key", 0, value));
  }
  for (const StoredItem& replica : replicas) replica.Write("eRS\x04 no more");
  CHECK(CodeOfGet(*client, "key") == StatusCode::kCorruption);
  // As the message says, it can be overwritten, and deleted.
  REQUIRE_OK(client->Put("key", value, {}));
  REQUIRE(MustGet(*client, "key") == value);
  for (const StoredItem& replica : replicas) replica.Flip(60);
  REQUIRE(client->Delete("key").ok());
  CHECK(CodeOfGet(*client, "key") == StatusCode::kNotFound);
}

TEST_CASE("a manifest that names members beyond the cluster is corrupted") {
  TestCluster cluster(6);
  const auto client = cluster.Open(kScheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  const std::vector<StoredItem> replicas = ReplicasOf(cluster, *client, "key");
  const auto spoil = [](const StoredItem& replica) {
    auto manifest = store::DecodeManifest(replica.key, replica.Read());
    REQUIRE_OK(manifest);
    manifest->nodes[2] = 6;
    replica.Write(store::EncodeManifest(*manifest));
  };
  // At one replica the others stand in.
  for (const StoredItem& replica : replicas) {
    spoil(replica);
    CHECK(MustGet(*cluster.Open(kScheme), "key") == value);
    REQUIRE_OK(client->Update("key", 0, value));
  }
  for (const StoredItem& replica : replicas) spoil(replica);
  const auto fresh = cluster.Open(kScheme);
  Value got;
  const auto read = fresh->Get("key", got);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code() == StatusCode::kCorruption);
  CHECK(read.error().message().find("'key'") != std::string::npos);
  CHECK(fresh->Stat("key").error().code() == StatusCode::kCorruption);
  CHECK(client->Update("key", 1, Bytes(1, 1)).error().code() ==
        StatusCode::kCorruption);
  REQUIRE_OK(fresh->Put("key", value, {}));
  CHECK(MustGet(*client, "key") == value);
}

TEST_CASE("a manifest of a newer format is an error, never a miss") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  REQUIRE_OK(client->Put("key", Bytes(20000, 1), {}));
  for (const StoredItem& replica : ReplicasOf(cluster, *client, "key")) {
    replica.Write("eRS\x06 of the future");
  }
  CHECK(CodeOfGet(*client, "key") == StatusCode::kUnsupportedFormat);
  CHECK(client->Put("key", Bytes(9, 1), {}).error().code() ==
        StatusCode::kUnsupportedFormat);
}

TEST_CASE("a plain item at the key is left alone") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  REQUIRE_OK(client->Put("other", Bytes(10, 1), {}));
  std::vector<StoredItem> items;
  for (int i = 0; i < cluster.size(); ++i) {
    items.push_back({&cluster.server(i), "key"});
    items.back().Write("foreign");
  }
  CHECK(CodeOfGet(*client, "key") == StatusCode::kNotManaged);
  CHECK(client->Put("key", Bytes(9, 1), {}).error().code() ==
        StatusCode::kNotManaged);
  CHECK(client->Delete("key").code() == StatusCode::kNotManaged);
  for (const StoredItem& item : items) CHECK(item.Read() == "foreign");
}

}  // namespace ers::test
