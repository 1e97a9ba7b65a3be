// SessionCounters: what one session has done.
#ifndef ERS_STORE_SUPPORT_SESSION_COUNTERS_H_
#define ERS_STORE_SUPPORT_SESSION_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/count.h"
#include "net/server_link.h"

namespace ers::store {

enum class TransitionKind : std::uint8_t {
  kWiden,
  kNarrow,
  kReencode,
  kParity,  // more or fewer parity blocks
};

// Blocks and bytes count when they moved, also in tries that came to nothing.
struct TransitionCounters {
  Count committed;
  Count data_reads;
  Count parity_reads;
  Count writes;
  Count bytes_read;
  Count bytes_written;
};

struct StoreCounters {
  // Changes by how their tries ended (change.h).
  Count commits;
  Count aborts_by_rival;  // another change was first: tried again
  Count aborts_by_view;   // the view changed, or a server was silent: likewise
  Count aborts_by_restart;  // planned on an old object: begun anew
  Count aborts_by_check;    // the object is not what the change asked for
  Count aborts_by_failure;  // servers
  Count commits_unknown;    // it may have happened

  Count degraded_reads;  // of values, that had to decode blocks
  Count repaired_blocks;
  // Reads of groups that did without a server that was late.
  Count hedges_sent;         // others were asked in its place, too
  Count hedges_won;          // and came first
  Count hedges_at_once;      // it was known to be late, and not asked at all
  Count hedges_refused;      // there were reads enough
  Count hedge_wasted_bytes;  // that came too late, or for nothing
  Count followed_evictions;  // copies of small values that went with another
  Count packs_made;
  Count packed_values;  // small ones, put into packs
  Count packed_bytes;   // of those values
  Count packs_dropped;  // as no manifest named them any more

  std::array<TransitionCounters, 4> transitions;  // by kind
  TransitionCounters& of(TransitionKind kind) {
    return transitions[static_cast<std::size_t>(kind)];
  }
};

// Written by the session's loop; any thread may read.
struct SessionCounters {
  explicit SessionCounters(std::size_t members) : links(members) {}

  StoreCounters store;
  std::vector<net::LinkCounters> links;  // by member
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_SESSION_COUNTERS_H_
