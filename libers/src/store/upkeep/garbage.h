// Garbage: blocks that no manifest names, nor ever will, and what is left of
// objects that have ended
// (docs/internals/return-and-garbage.md, Garbage).
#ifndef ERS_STORE_UPKEEP_GARBAGE_H_
#define ERS_STORE_UPKEEP_GARBAGE_H_

#include <cstddef>

#include "ers/garbage.h"
#include "net/task.h"
#include "store/membership/session.h"
#include "store/repair/listing.h"

namespace ers::store {

struct GarbageTerms {
  GarbageOptions options;
  int parallel = 8;           // objects at a time
  StopToken* stop = nullptr;  // ends it early; null: nothing does
  // Also finds flushed values that have no blocks: reads every small one,
  // if there ever was a flush.
  bool small_values = true;
  // For the names of blocks and objects that are checked together: where
  // there are more, the servers list their keys several times.
  std::size_t names_bytes = std::size_t{64} << 20;
};

// Checks every object and block on every server that is in the view, once.
// Fails (kUnavailable) when it is stopped, or there is no view; a server that
// does not answer is no failure, but leaves blocks skipped. `session` and what
// `terms` points to outlive it. Loop thread only.
net::Task<Result<GarbageReport>> CollectGarbage(Session& session,
                                                GarbageTerms terms);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_GARBAGE_H_
