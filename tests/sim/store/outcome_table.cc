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

void OutcomeTable::Add(const OutcomeTable& other) {
  for (std::size_t fault = 0; fault < kFaults; ++fault) {
    for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
      for (std::size_t ending = 0; ending < kEndings; ++ending) {
        counts_[fault][kind][ending] += other.counts_[fault][kind][ending];
      }
    }
  }
}

// A put asks nothing that could be missing, a get changes nothing that could be
// unknown; and what fails without a fault felt it before.
bool OutcomeTable::Exists(std::size_t fault, std::size_t kind,
                          std::size_t ending) {
  const auto operation = static_cast<OperationKind>(kind);
  // In runs of their own.
  switch (operation) {
    case OperationKind::kCas:
    case OperationKind::kAdd:
    case OperationKind::kReplace:
    case OperationKind::kTouch:
    case OperationKind::kFlush:
    case OperationKind::kVerify:
    case OperationKind::kPack:
    case OperationKind::kKeep:
      return false;
    default:
      break;
  }
  switch (static_cast<Ending>(ending)) {
    case Ending::kAcked:
      return true;
    case Ending::kNotFound:
      return operation != OperationKind::kPut;
    case Ending::kRefused:
      return false;
    case Ending::kUnknown:
      return operation != OperationKind::kGet && fault + 1 != kFaults;
    case Ending::kOpen:
    case Ending::kFailed:
      break;
  }
  return fault + 1 != kFaults;
}

void OutcomeTable::Print() const {
  fmt::print("{:<14}{:<11}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "fault",
             "operation", "open", "acked", "miss", "failed", "unknown",
             "refused");
  for (std::size_t fault = 0; fault < kFaults; ++fault) {
    const std::string name =
        fault + 1 == kFaults
            ? "none"
            : std::string(FaultName(static_cast<FaultKind>(fault)));
    for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
      fmt::print("{:<14}{:<11}", name,
                 OperationName(static_cast<OperationKind>(kind)));
      for (std::size_t ending = 0; ending < kEndings; ++ending) {
        const std::uint64_t count = counts_[fault][kind][ending];
        const bool shown = count != 0 || Exists(fault, kind, ending);
        fmt::print("{:>9}", shown ? std::to_string(count) : "-");
      }
      fmt::print("\n");
    }
  }
}

int OutcomeTable::Empty() const {
  int empty = 0;
  for (std::size_t fault = 0; fault < kFaults; ++fault) {
    for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
      for (std::size_t ending = 0; ending < kEndings; ++ending) {
        const bool seen = counts_[fault][kind][ending] != 0;
        empty += static_cast<int>(!seen && Exists(fault, kind, ending));
      }
    }
  }
  return empty;
}

}  // namespace ers::sim
