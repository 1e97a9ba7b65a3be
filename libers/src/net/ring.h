// Ring: which servers a key belongs to, in which order.
#ifndef ERS_NET_RING_H_
#define ERS_NET_RING_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "net/endpoint.h"
#include "net/placement.h"

namespace ers::net {

// Immutable after construction; any thread. The first member of a key's walk is
// the server that other clients, by that placement, use for it. Points of a
// ketama are as libmemcached's MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED makes them.
class Ring {
 public:
  explicit Ring(std::span<const Endpoint> members, Placement placement = {});

  // Members by position in the constructor's list, in the order in which the
  // ring is met from where the key is, each once; at most `count`.
  std::vector<int> Walk(std::string_view key, int count) const;
  int size() const { return members_; }

 private:
  using Points = std::vector<std::pair<std::uint32_t, int>>;
  void AddKetama(std::span<const Endpoint> members);
  void AddInOrder(std::span<const Endpoint> members);
  [[nodiscard]] Points::const_iterator Begin(std::string_view key) const;

  Placement placement_;
  // Of a ketama sorted by hash; else in the order of the list, with 0.
  Points points_;
  int members_;
};

}  // namespace ers::net

#endif  // ERS_NET_RING_H_
