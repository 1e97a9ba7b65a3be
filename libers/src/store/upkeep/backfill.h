// Backfilling several members that are back in the view, together.
#ifndef ERS_STORE_UPKEEP_BACKFILL_H_
#define ERS_STORE_UPKEEP_BACKFILL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/count.h"
#include "net/task.h"
#include "store/membership/session.h"
#include "store/repair/key_walk.h"
#include "store/support/pace.h"
#include "store/support/step_timer.h"
#include "store/support/stop_token.h"
#include "store/upkeep/damped_returns.h"
#include "store/upkeep/slow_servers.h"

namespace ers::store {

// Of the blocks that one backfill has under way: some fifty objects of 1 MiB,
// or six groups of 8 MiB.
inline constexpr std::uint64_t kBackfillBlockBytes = std::uint64_t{64} << 20;

// What backfills have done since its making. One loop writes; any thread reads,
// each number by itself.
struct BackfillCounters {
  Count repaired;  // objects that something was done for
  Count lost;      // objects that cannot be read any more
  Count blocks;    // stored
  Count bytes_read;
  Count bytes_written;
};

// How far the walk that is under way is.
struct BackfillProgress {
  std::uint64_t walk = 0;  // 1, 2, ...; 0: none is under way
  std::uint64_t objects = 0;
  std::uint64_t total = 0;  // grows better as it goes
  std::vector<int> members;
  net::TimePoint begun{};

  // Of this walk, by what was done until now; negative: not known yet.
  [[nodiscard]] double SecondsLeft(net::TimePoint now) const;
};

struct BackfillTerms {
  int parallel = 32;                     // objects at a time
  StopToken* stop = nullptr;             // ends it early; null: nothing does
  std::size_t slice_keys = kKeysAtOnce;  // in memory at a time
  // Of blocks under way; a group that has more is repaired alone.
  std::uint64_t block_bytes = kBackfillBlockBytes;
  Pace* pace = nullptr;                  // waited for; null: no limit
  StepTimer* steps = nullptr;            // null: not measured
  BackfillCounters* counters = nullptr;  // likewise
  DampedReturns* damped = nullptr;       // null: all come back at once
  SlowServers* slow = nullptr;           // null: also those that are slow
  // Called after each object, and with walk 0 at the end; may be empty.
  std::function<void(const BackfillProgress&)> progress;
};

struct BackfillReport {
  std::uint64_t objects = 0;  // that something was done for
  std::uint64_t blocks = 0;   // stored
  std::uint64_t lost = 0;     // objects that cannot be read any more
  std::vector<int> members;   // that are in sync now
};

// Sends every member a request, so that this process's connections show which
// were restarted though no other request went there, and has those leave the
// view; and those that have been slow for long, where `slow` is given. A view
// must be in force.
net::Task<void> MissRestarted(Session& session, SlowServers* slow = nullptr);

// Lets those of `members` (empty: of all) that are down and answer again back
// into the view, and makes them in sync, with those that one before began.
// Members that come back meanwhile join them. OK where any is in sync now, or
// there was nothing to do; to be called again where that could not be finished.
// kNoMemory, kTooLarge: a server refused something, and has all else by now.
// `terms` outlive the task.
net::Task<Result<BackfillReport>> Backfill(Session& session,
                                           std::vector<int> members,
                                           const BackfillTerms& terms);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_BACKFILL_H_
