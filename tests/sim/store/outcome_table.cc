#include "sim/store/outcome_table.h"

#include <fmt/format.h>

#include <string>

namespace ers::sim {

void OutcomeTable::Add(const StoreRun& run) {
  for (const Operation& operation : run.history.operations()) {
    const auto kind = static_cast<std::size_t>(operation.kind);
    const auto ending = static_cast<std::size_t>(operation.ending);
    bool any = false;
    for (const FaultWindow& fault : run.faults) {
      if (fault.begin > operation.returned || fault.end < operation.invoked) {
        continue;
      }
      any = true;
      ++counts_[static_cast<std::size_t>(fault.kind)][kind][ending];
    }
    if (!any) ++counts_[kFaults - 1][kind][ending];
  }
}

void OutcomeTable::Print() const {
  fmt::print("{:<14}{:<11}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "fault", "operation",
             "open", "acked", "miss", "failed", "unknown");
  for (std::size_t fault = 0; fault < kFaults; ++fault) {
    const std::string name =
        fault + 1 == kFaults
            ? "none"
            : std::string(FaultName(static_cast<FaultKind>(fault)));
    for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
      const Row& row = counts_[fault][kind];
      fmt::print("{:<14}{:<11}{:>9}{:>9}{:>9}{:>9}{:>9}\n", name,
                 OperationName(static_cast<OperationKind>(kind)), row[0],
                 row[1], row[2], row[3], row[4]);
    }
  }
}

}  // namespace ers::sim
