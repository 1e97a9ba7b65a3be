// One run of the store in the simulated world: everything follows from the
// seed.
#ifndef ERS_TESTS_SIM_STORE_STORE_RUN_H_
#define ERS_TESTS_SIM_STORE_STORE_RUN_H_

#include <cstdint>
#include <vector>

#include "sim/history/checker.h"
#include "sim/history/history.h"
#include "sim/store/fault_plan.h"
#include "sim/store/scenario.h"

namespace ers::sim {

struct StoreRun {
  Scenario scenario;
  std::vector<Violation> violations;
  History history;
  std::vector<FaultWindow> faults;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
};

// Parks memory for ever when the run kills a process, or does not end. `trace`:
// prints every command that a server applied.
StoreRun RunStore(std::uint64_t seed, Profile profile, bool trace);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_STORE_RUN_H_
