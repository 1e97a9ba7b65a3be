// Checker: says which promise a history breaks, by the number and name it has
// in the list of invariants (docs: consistency).
//
// First come tests for one breach each, which name it exactly; then, for every
// key, a search for any order of the operations that explains all that the
// clients were answered (Wing and Gong's, with memoised dead ends):
// linearizability of a register whose writes may have an unknown outcome.
#ifndef ERS_TESTS_SIM_HISTORY_CHECKER_H_
#define ERS_TESTS_SIM_HISTORY_CHECKER_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/history/history.h"

namespace ers::sim {

enum class Invariant : int {
  kNothingLost = 1,
  kOneChain = 2,
  kBlocksOfManifest = 3,
  kViewBarrier = 4,
  kIncarnation = 5,
  kDeletedStaysDeleted = 6,
  kOneChangesBytes = 7,
  kMissOnlyIfAbsent = 8,
  kFailedLeavesWhole = 9,
  kGarbageOnly = 10,
  kEverythingEnds = 11,
  kEnoughMembers = 12,
  kFullRedundancy = 13,
};

// "invariant 6 (no read shows a deleted life)".
std::string InvariantName(Invariant invariant);

struct Violation {
  Invariant invariant = Invariant::kOneChain;
  std::string text;  // begins with the name; names the operations
};

struct CheckOptions {
  // Objects may vanish (evictions on, or more than f members not in sync): a
  // miss is then always allowed, but what is gone stays gone.
  bool values_may_vanish = false;
  // Something ends objects without a trace (an export): the CAS of the next
  // one may be an old one's.
  bool cas_may_repeat = false;
  // An exported value is on one server alone: with more than f lost it may come
  // back with that, though the object that took its place is gone.
  bool exported_may_return = false;
  // Clients that were killed: their operations may stay open.
  std::set<int> killed_clients;
  // Give up on a key after so many steps of the search; counted as a violation
  // of no invariant but reported, since it proves nothing.
  std::size_t search_limit = 20'000'000;
};

// Everything that is wrong, key by key; empty: the history is good.
// For histories of up to a few hundred operations per key. Any thread.
std::vector<Violation> Check(const History& history,
                             const CheckOptions& options = {});

// For the parts that see what clients do not (blocks, manifests, views).
Violation Breach(Invariant invariant, std::string_view key,
                 std::string_view text);

// The search alone, for the operations of one key, any order. kFailed ones are
// taken as not happened.
enum class SearchResult { kExplained, kImpossible, kGaveUp };
SearchResult SearchOrder(const std::vector<const Operation*>& operations,
                         const CheckOptions& options);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_HISTORY_CHECKER_H_
