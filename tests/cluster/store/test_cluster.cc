#include "cluster/store/test_cluster.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

namespace ers::test {

TestCluster::TestCluster(int servers, std::vector<std::string> arguments) {
  for (const char* word : {"-t", "1"}) arguments.emplace_back(word);
  for (int i = 0; i < servers; ++i) servers_.emplace_back(arguments);
}

std::string TestCluster::List() const {
  std::string list;
  for (const MemcachedProcess& server : servers_) {
    if (!list.empty()) list += ',';
    list += server.endpoint().name();
  }
  return list;
}

MemcachedProcess& TestCluster::Named(const std::string& name) {
  for (MemcachedProcess& server : servers_) {
    if (server.endpoint().name() == name) return server;
  }
  throw std::runtime_error("no such member: " + name);
}

ClusterOptions TestCluster::Options() const {
  ClusterOptions options;
  options.servers = List();
  options.connect_timeout = options.request_timeout = patience_;
  options.operation_timeout = 5 * patience_;
  // Requests are counted: none is sent twice where the machine stands still.
  options.hedge_percent = 0;
  return options;
}

std::unique_ptr<Client> TestCluster::Open(const Scheme& scheme,
                                          int max_failures,
                                          std::size_t inline_below,
                                          std::size_t column_below) const {
  ClusterOptions options = Options();
  options.max_failures = max_failures;
  auto cluster = Cluster::Open(std::move(options));
  REQUIRE_OK(cluster);
  ClientOptions client_options;
  client_options.scheme = scheme;
  client_options.inline_below = inline_below;
  client_options.column_below = column_below;
  auto client = Client::Open(*cluster, client_options);
  REQUIRE_OK(client);
  return std::move(*client);
}

std::vector<std::byte> Bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[at], &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

namespace {

Served CountOnce(TestCluster& cluster) {
  Served served;
  for (int i = 0; i < cluster.size(); ++i) {
    if (!cluster.server(i).running()) continue;
    const std::string stats = cluster.server(i).Ask("stats\r\n", "END");
    const auto field = [&stats](const std::string& name) {
      const std::size_t at = stats.find("STAT " + name + " ");
      return std::stol(stats.substr(at + name.size() + 6));
    };
    served.hits += field("get_hits");
    served.sets += field("cmd_set");
  }
  return served;
}

}  // namespace

Served CountServed(TestCluster& cluster) {
  Served before = CountOnce(cluster);
  while (true) {
    const Served now = CountOnce(cluster);
    if (now.hits == before.hits && now.sets == before.sets) return now;
    before = now;
  }
}

bool ServedAlone(const Served& before, const Served& after, long hits,
                 long sets) {
  const long more = after.hits - before.hits - hits;
  const long entries = after.sets - before.sets - sets;
  UNSCOPED_INFO("beside them " << more << " hits and " << entries << " sets");
  return more >= 0 && more % 2 == 0 && entries >= 0 && entries <= more / 2;
}

std::vector<std::byte> MustGet(Client& client, const std::string& key) {
  Value value;
  const auto got = client.Get(key, value);
  REQUIRE_OK(got);
  return {value.bytes().begin(), value.bytes().end()};
}

}  // namespace ers::test
