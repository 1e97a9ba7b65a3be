// Memory: what an operation asks before it takes memory for a value.
#ifndef ERS_STORE_SUPPORT_MEMORY_H_
#define ERS_STORE_SUPPORT_MEMORY_H_

#include <cstdint>

#include "net/task.h"

namespace ers::store {

// One operation's. Where there is none, no limit holds. Loop thread only.
class Memory {
 public:
  virtual ~Memory() = default;
  // Now, or not.
  virtual bool TryTake(std::uint64_t bytes) = 0;
  // Waits until there is room. kNoMemory: there never will be.
  virtual net::Task<Status> Take(std::uint64_t bytes) = 0;
  virtual void Give(std::uint64_t bytes) = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_MEMORY_H_
