// What the model servers hold at the end of a run, held against what the
// manifests say: invariants 7 (parity), 10 (nothing left over) and 13
// (redundancy).
#ifndef ERS_TESTS_SIM_STORE_STORED_STATE_H_
#define ERS_TESTS_SIM_STORE_STORED_STATE_H_

#include <cstdint>
#include <vector>

#include "sim/history/checker.h"
#include "sim/store/server_watch.h"

namespace ers::sim {

// Re-encodes the parity of every stripe whose data blocks are all there.
std::vector<Violation> CheckParity(const Scenario& scenario,
                                   const ServerWatch& watch);

// After everything has ended, the time for late readers is over, and garbage
// was collected by one whose time was `collected_us` (Unix us): no blocks of
// before are on members but those that manifests name. Of a run without faults,
// all of them.
std::vector<Violation> CheckNothingLeftOver(const Scenario& scenario,
                                            const ServerWatch& watch,
                                            std::int64_t collected_us);

// Then also: no block of a member that is in sync was never stored, or, unless
// `may_lose` (a server has dropped items by itself), is gone.
std::vector<Violation> CheckRedundancy(const Scenario& scenario,
                                       const ServerWatch& watch, bool may_lose);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_STORED_STATE_H_
