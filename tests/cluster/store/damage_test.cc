// Items that were damaged behind the library's back.
#include <fmt/format.h>

#include <utility>

#include "cluster/store/test_cluster.h"
#include "store/keys.h"

namespace ers::test {
namespace {

const Scheme kScheme{SchemeKind::kErs2, 4, 1, 5};

// metadump escapes '!' as URLs do.
std::string Unescaped(std::string text) {
  constexpr std::string_view kMark = "%21";
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = text.find(kMark); at != std::string::npos;
       at = text.find(kMark, from)) {
    out.append(text, from, at - from);
    out.push_back('!');
    from = at + kMark.size();
  }
  out.append(text, from);
  return out;
}

// Keys of all items on a server that begin with `prefix`.
std::vector<std::string> Keys(MemcachedProcess& server,
                              const std::string& prefix) {
  const std::string dump = server.Ask("lru_crawler metadump hash\r\n", "END");
  std::vector<std::string> keys;
  for (std::size_t at = dump.find("key="); at != std::string::npos;
       at = dump.find("\nkey=", at)) {
    at = dump.find('=', at) + 1;
    const std::size_t end = dump.find(' ', at);
    std::string key = dump.substr(at, end - at);
    key = Unescaped(std::move(key));
    if (key.starts_with(prefix)) keys.push_back(std::move(key));
  }
  return keys;
}

void Overwrite(MemcachedProcess& server, const std::string& key,
               const std::string& bytes) {
  const std::string answer = server.Ask(
      fmt::format("set {} 0 0 {}\r\n{}\r\n", key, bytes.size(), bytes));
  REQUIRE(answer.find("STORED") != std::string::npos);
}

// How many items named `key` there are, each overwritten with `bytes`.
int OverwriteEverywhere(TestCluster& cluster, const std::string& key,
                        const std::string& bytes, int most) {
  int found = 0;
  for (int i = 0; i < cluster.size() && found < most; ++i) {
    if (Keys(cluster.server(i), key).empty()) continue;
    Overwrite(cluster.server(i), key, bytes);
    ++found;
  }
  return found;
}

StatusCode CodeOfGet(Client& client, const std::string& key) {
  Value value;
  const auto got = client.Get(key, value);
  return got.has_value() ? StatusCode::kOk : got.error().code();
}

}  // namespace

TEST_CASE("a corrupted block is decoded from the others and mended") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  for (int i = 0; i < cluster.size(); ++i) {
    const auto keys = Keys(cluster.server(i), "ers!b");
    std::vector<std::string> blocks;
    for (const std::string& key : keys) {
      if (key != store::kBootKey) blocks.push_back(key);
    }
    REQUIRE_FALSE(blocks.empty());
    Overwrite(cluster.server(i), blocks.front(), std::string(1040, 'x'));
    REQUIRE(MustGet(*client, "key") == value);
    REQUIRE(MustGet(*cluster.Open(kScheme), "key") == value);
    // A parity block is not read, so it is put right by hand for the next.
    REQUIRE_OK(client->Put("key", value, {}));
  }
}

TEST_CASE("more damage than the redundancy bears is a miss, not wrong bytes") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  REQUIRE_OK(client->Put("key", Bytes(20000, 1), {}));
  for (int i = 0; i < cluster.size(); ++i) {
    for (const std::string& key : Keys(cluster.server(i), "ers!b")) {
      if (key != store::kBootKey) Overwrite(cluster.server(i), key, "x");
    }
  }
  CHECK(CodeOfGet(*client, "key") == StatusCode::kNotFound);
}

TEST_CASE("a corrupted manifest is mended from the other home") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  const std::vector<std::byte> value = Bytes(20000, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  for (int i = 0; i < cluster.size(); ++i) {
    if (Keys(cluster.server(i), "key").empty()) continue;
    Overwrite(cluster.server(i), "key", "eRSm\x01 and no more of it");
    REQUIRE(MustGet(*cluster.Open(kScheme), "key") == value);
    REQUIRE_OK(client->Update("key", 3, Bytes(10, 2)));
    REQUIRE_OK(client->Update("key", 0, value));
  }
  REQUIRE(OverwriteEverywhere(cluster, "key", "eRSm\x01 no more", 2) == 2);
  CHECK(CodeOfGet(*client, "key") == StatusCode::kCorruption);
}

TEST_CASE("a manifest of a newer format is an error, never a miss") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  REQUIRE_OK(client->Put("key", Bytes(20000, 1), {}));
  REQUIRE(OverwriteEverywhere(cluster, "key", "eRSm\x02 of the future", 2) ==
          2);
  CHECK(CodeOfGet(*client, "key") == StatusCode::kUnsupportedFormat);
  CHECK(client->Put("key", Bytes(9, 1), {}).error().code() ==
        StatusCode::kUnsupportedFormat);
}

TEST_CASE("a plain item at the key is left alone") {
  TestCluster cluster(6);
  auto client = cluster.Open(kScheme);
  REQUIRE_OK(client->Put("other", Bytes(10, 1), {}));
  for (int i = 0; i < cluster.size(); ++i) {
    Overwrite(cluster.server(i), "key", "somebody's");
  }
  CHECK(CodeOfGet(*client, "key") == StatusCode::kNotManaged);
  CHECK(client->Put("key", Bytes(9, 1), {}).error().code() ==
        StatusCode::kNotManaged);
  CHECK(client->Delete("key").code() == StatusCode::kNotManaged);
  for (int i = 0; i < cluster.size(); ++i) {
    CHECK(cluster.server(i).Ask("get key\r\n", "END").find("somebody's") !=
          std::string::npos);
  }
}

}  // namespace ers::test
