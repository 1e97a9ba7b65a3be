// Ring: libmemcached's weighted ketama, and the walk round it.
#ifndef ERS_NET_RING_H_
#define ERS_NET_RING_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "net/endpoint.h"

namespace ers::net {

// Immutable after construction; any thread. Points as libmemcached's
// MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED with MD5 makes them, so that the first
// member of a key's walk is the server that other clients use for it.
class Ring {
 public:
  explicit Ring(std::span<const Endpoint> members);

  // Members by position in the constructor's list, in the order in which the
  // ring is met clockwise from the key's hash, each once; at most `count`.
  std::vector<int> Walk(std::string_view key, int count) const;
  int size() const { return members_; }

 private:
  std::vector<std::pair<std::uint32_t, int>> points_;  // sorted by hash
  int members_;
};

}  // namespace ers::net

#endif  // ERS_NET_RING_H_
