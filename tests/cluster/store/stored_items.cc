#include "cluster/store/stored_items.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "store/format/keys.h"
#include "store/format/object_map.h"

namespace ers::test {

std::string StoredItem::Read() const {
  const std::string answer = server->Ask("get " + key + "\r\n", "END");
  const std::size_t line = answer.find("\r\n");
  REQUIRE(answer.starts_with("VALUE "));
  REQUIRE(answer.ends_with("\r\nEND\r\n"));
  const std::size_t begin = line + 2;
  return answer.substr(begin, answer.size() - begin - 7);
}

bool StoredItem::Exists() const {
  return server->Ask("get " + key + "\r\n", "END").starts_with("VALUE ");
}

void StoredItem::Write(const std::string& bytes) const {
  REQUIRE(server->Ask(fmt::format("set {} 0 0 {}\r\n{}\r\n", key, bytes.size(),
                                  bytes)) == "STORED\r\n");
}

void StoredItem::Delete() const {
  REQUIRE(server->Ask("delete " + key + "\r\n") == "DELETED\r\n");
}

void StoredItem::Flip(std::size_t at) const {
  std::string bytes = Read();
  REQUIRE(at < bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  Write(bytes);
}

std::vector<StoredItem> ReplicasOf(TestCluster& cluster, Client& client,
                                   const std::string& key) {
  const auto detail = client.Stat(key);
  REQUIRE_OK(detail);
  std::vector<StoredItem> replicas;
  for (const std::string& name : detail->replicas) {
    replicas.push_back({&cluster.Named(name), store::ManifestKey(key)});
  }
  REQUIRE_FALSE(replicas.empty());
  return replicas;
}

store::Manifest PrimaryManifest(TestCluster& cluster, Client& client,
                                const std::string& key) {
  const StoredItem primary = ReplicasOf(cluster, client, key).back();
  auto manifest = store::DecodeManifest(primary.key, primary.Read());
  REQUIRE_OK(manifest);
  return std::move(*manifest);
}

std::vector<StoredBlock> BlocksOf(TestCluster& cluster, Client& client,
                                  const std::string& key) {
  const auto detail = client.Stat(key);
  REQUIRE_OK(detail);
  const store::ObjectMap map(std::make_shared<const store::Manifest>(
      PrimaryManifest(cluster, client, key)));
  std::vector<StoredBlock> blocks;
  for (const BlockState& state : detail->blocks) {
    StoredBlock block;
    block.server = &cluster.Named(state.server);
    block.key =
        map.KeyOf(state.group, static_cast<layout::BlockId>(state.block));
    block.state = state;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace ers::test
