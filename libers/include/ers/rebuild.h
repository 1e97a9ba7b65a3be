// What the backfilling of servers that lost their memory is asked for, and what
// it did.
#ifndef ERS_REBUILD_H_
#define ERS_REBUILD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ers {

// How far it is.
struct RebuildProgress {
  std::vector<std::string> servers;  // that are being backfilled
  // Over all objects: 1, 2, ... The last finds nothing to do.
  std::uint64_t walk = 0;
  std::uint64_t objects = 0;  // of this walk
  std::uint64_t total = 0;    // of this walk; grows better as it goes
  double seconds_left = -1;   // of this walk; negative: not known yet
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

// An empty server that is to have the place of another one.
struct Successor {
  std::string old_server;
  std::string new_server;
};

// More servers are out than the cluster survives.
struct Loss {
  std::vector<std::string> silent;  // do not answer
  std::vector<std::string> lost;    // answer, and have lost their memory
  int out = 0;                      // these, and others that were not in sync
  int kept = 0;                     // have all that they had
  // Too few kept it to know that no later change is among what is lost: what
  // they hold counts for nothing. Else values are there whose copies and
  // blocks they have enough of.
  bool all_is_lost = false;
};

struct RebuildReport {
  std::vector<std::string> backfilled;  // servers that became in sync
  std::vector<std::string> out;         // are not, and why
  std::uint64_t objects = 0;            // that something was done for
  std::uint64_t blocks = 0;             // stored
  std::uint64_t lost = 0;               // objects that cannot be read any more
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

struct RebuildOptions {
  std::uint64_t bytes_per_second = 0;  // read and written; 0: no limit
  // Objects at a time: of each one group is in memory, of all no more than
  // 64 MiB, or one group.
  int parallel = 32;
  // Keys of which no more are in memory at a time, with about 200 bytes each:
  // where there are more the servers list theirs again for each such slice.
  std::size_t slice_keys = std::size_t{1} << 19;
  // Called after each object; what it is given lives for the call. May be
  // empty.
  std::function<void(const RebuildProgress&)> progress;
};

}  // namespace ers

#endif  // ERS_REBUILD_H_
