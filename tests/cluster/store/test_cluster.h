// TestCluster: real memcached processes and clients on them.
#ifndef TESTS_CLUSTER_STORE_TEST_CLUSTER_H_
#define TESTS_CLUSTER_STORE_TEST_CLUSTER_H_

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cluster/memcached_process.h"
#include "ers/client.h"

namespace ers::test {

// Fails the test with the status's own words.
#define REQUIRE_OK(expression)                             \
  do {                                                     \
    const auto& outcome = (expression);                    \
    if (!outcome.has_value()) {                            \
      FAIL(#expression ": " << outcome.error().message()); \
    }                                                      \
  } while (false)

class TestCluster {
 public:
  explicit TestCluster(int servers, std::vector<std::string> arguments = {});

  MemcachedProcess& server(int i) {
    return servers_[static_cast<std::size_t>(i)];
  }
  int size() const { return static_cast<int>(servers_.size()); }
  std::string List() const;
  // The process that listens at a member's name.
  MemcachedProcess& Named(const std::string& name);

  // How long clients wait for a server: for as long as a busy machine may keep
  // one silent, but where one is to be found dead by its silence.
  void SetPatience(std::chrono::milliseconds patience) { patience_ = patience; }
  // Options that name all members.
  ClusterOptions Options() const;
  // A client of a process of its own: nothing is remembered, nothing inline.
  std::unique_ptr<Client> Open(const Scheme& scheme, int max_failures = 0,
                               std::size_t inline_below = 0,
                               std::size_t column_below = 0) const;

 private:
  std::deque<MemcachedProcess> servers_;
  std::chrono::milliseconds patience_ = std::chrono::seconds(60);
};

// Requests that all servers together have answered with a value or stored.
struct Served {
  long hits = 0;
  long sets = 0;
};
// Once nothing is under way, as a heartbeat may be.
Served CountServed(TestCluster& cluster);
// Whether they have answered so many in between; and heartbeats, which read two
// records on each server that they go to, and write one only where the machine
// stood still for so long that the process's entry has expired.
bool ServedAlone(const Served& before, const Served& after, long hits,
                 long sets);

// `size` bytes that depend on `seed`.
std::vector<std::byte> Bytes(std::size_t size, std::uint64_t seed);
// The value as bytes, or an empty vector and a failed test.
std::vector<std::byte> MustGet(Client& client, const std::string& key);

}  // namespace ers::test

#endif  // TESTS_CLUSTER_STORE_TEST_CLUSTER_H_
