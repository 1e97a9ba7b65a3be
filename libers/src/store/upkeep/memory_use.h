// What servers report of their memory.
#ifndef ERS_STORE_UPKEEP_MEMORY_USE_H_
#define ERS_STORE_UPKEEP_MEMORY_USE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// By the server's own count. A plain value.
struct MemoryUse {
  std::uint64_t used_bytes = 0;  // of items, with what memcached adds to each
  std::uint64_t limit_bytes = 0;
  std::uint64_t items = 0;
  std::uint64_t evictions = 0;  // items, since it was started
};

// One request to each member that has not left the view, which must be in
// force; by member. Nothing of one that does not answer, which stays in the
// view all the same.
net::Task<std::vector<std::optional<MemoryUse>>> AskMemoryUse(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_MEMORY_USE_H_
