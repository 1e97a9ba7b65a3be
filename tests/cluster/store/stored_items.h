// The items of an object as the servers hold them, to read and to damage
// behind the library's back.
#ifndef TESTS_CLUSTER_STORE_STORED_ITEMS_H_
#define TESTS_CLUSTER_STORE_STORED_ITEMS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cluster/store/test_cluster.h"
#include "store/format/manifest.h"

namespace ers::test {

// One item. Lives as long as the cluster.
struct StoredItem {
  MemcachedProcess* server = nullptr;
  std::string key;

  // Fails the test where it is not there.
  std::string Read() const;
  bool Exists() const;
  void Write(const std::string& bytes) const;
  void Delete() const;
  // Changes one byte; twice is as before. The size stays.
  void Flip(std::size_t at) const;
};

// A block and where it is.
struct StoredBlock : StoredItem {
  BlockState state;
};

// The manifest copies of an object, the primary's last.
std::vector<StoredItem> ReplicasOf(TestCluster& cluster, Client& client,
                                   const std::string& key);
// What the primary holds.
store::Manifest PrimaryManifest(TestCluster& cluster, Client& client,
                                const std::string& key);
// All blocks that the primary's manifest names, in Stat's order.
std::vector<StoredBlock> BlocksOf(TestCluster& cluster, Client& client,
                                  const std::string& key);

}  // namespace ers::test

#endif  // TESTS_CLUSTER_STORE_STORED_ITEMS_H_
