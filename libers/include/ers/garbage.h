// Garbage collection: dropping blocks that no object has, nor ever will.
#ifndef ERS_GARBAGE_H_
#define ERS_GARBAGE_H_

#include <chrono>
#include <cstdint>

#include "ers/status.h"

namespace ers {

struct GarbageOptions {
  // Blocks that were stored less than twice this long ago stay: a change that
  // is under way may need them. Changes take at most an hour; less than that is
  // right only while none is made.
  std::chrono::milliseconds grace{3600000};
  // That are checked for garbage, so that others are served meanwhile; 0: no
  // limit.
  std::uint64_t objects_per_second = 0;
  // Only counts what would be dropped.
  bool dry_run = false;
};

// In blocks, but where it says otherwise.
struct GarbageReport {
  std::uint64_t listed = 0;    // seen on the servers
  std::uint64_t live = 0;      // of an object, of those old enough
  std::uint64_t young = 0;     // not old enough
  std::uint64_t expiring = 0;  // they go by themselves within two minutes
  std::uint64_t dropped = 0;
  std::uint64_t dropped_bytes = 0;  // of the servers' memory
  std::uint64_t skipped = 0;        // could not be decided: see `why`
  std::uint64_t flushed = 0;        // objects, also expired ones, dropped
  std::uint64_t packs = 0;          // that no value is in any more, dropped
  std::uint64_t silent = 0;         // servers that did not list all they hold
  Status why;                       // of one that was skipped, or is silent
};

}  // namespace ers

#endif  // ERS_GARBAGE_H_
