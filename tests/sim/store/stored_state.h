// What the model servers hold at the end of a run, held against what the
// manifests say: invariants 7 (parity) and 10 (nothing left over).
#ifndef ERS_TESTS_SIM_STORE_STORED_STATE_H_
#define ERS_TESTS_SIM_STORE_STORED_STATE_H_

#include <vector>

#include "sim/checker.h"
#include "sim/store/server_watch.h"

namespace ers::sim {

// Re-encodes the parity of every stripe whose data blocks are all there.
std::vector<Violation> CheckParity(const World& world, const Scenario& scenario,
                                   const ServerWatch& watch);

// For runs without faults, after everything has ended and the time for late
// readers is over: exactly the blocks that manifests name are there.
std::vector<Violation> CheckNothingLeftOver(const World& world,
                                            const Scenario& scenario,
                                            const ServerWatch& watch);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_STORED_STATE_H_
