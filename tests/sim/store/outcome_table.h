// OutcomeTable: how operations ended while each kind of fault could be felt:
// shows what a set of runs has, and has not, tried.
#ifndef ERS_TESTS_SIM_STORE_OUTCOME_TABLE_H_
#define ERS_TESTS_SIM_STORE_OUTCOME_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/store/store_run.h"

namespace ers::sim {

// A plain struct of numbers: it can be copied from one process to another.
class OutcomeTable {
 public:
  void Add(const StoreRun& run);
  void Add(const OutcomeTable& other);
  // Rows: fault kind x operation kind. Columns: endings; "-": there is no such
  // thing.
  void Print() const;
  // Cells of what there is and was not seen.
  [[nodiscard]] int Empty() const;

 private:
  static constexpr std::size_t kFaults =
      static_cast<std::size_t>(FaultKind::kCount) + 1;  // the last: none
  using Row = std::array<std::uint64_t, kEndings>;
  static bool Exists(std::size_t fault, std::size_t kind, std::size_t ending);

  std::array<std::array<Row, kOperationKinds>, kFaults> counts_{};
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_OUTCOME_TABLE_H_
