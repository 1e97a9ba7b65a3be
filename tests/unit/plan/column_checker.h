// Runs plans of groups in columns on bytes, and holds the results against the
// naive model: a column is what one node has.
#ifndef ERS_TESTS_UNIT_PLAN_COLUMN_CHECKER_H_
#define ERS_TESTS_UNIT_PLAN_COLUMN_CHECKER_H_

#include <map>
#include <random>
#include <string>
#include <vector>

#include "plan/planners.h"
#include "unit/plan/naive_model.h"

namespace ers::plan {

// As PlanChecker. Of elastic schemes.
class ColumnChecker {
 public:
  ColumnChecker(const naive::Parameters& parameters, std::mt19937& random);

  const Geometry& geometry() const { return geometry_; }
  // The library's cells of each column against the model's.
  std::string CheckLayout() const;
  // Every planner, with up to m columns missing: as `missing` has them.
  std::string CheckAll(const Missing& missing);

 private:
  using Content = std::vector<naive::Block>;  // cell by cell
  struct Outcome {
    std::string error;
    std::map<BlockId, Content> outputs;
    std::map<BlockId, bool> from_reads_alone;
  };

  bool IsAbsent(BlockId column, const Missing& missing) const;
  // The cells of a column as the model has them, if the group's data were
  // `data` (l blocks).
  Content Expected(BlockId column, const std::vector<naive::Block>& data) const;
  Outcome Run(const Plan& plan, Width stored, const Missing& missing,
              const std::map<BlockId, Content>& given) const;
  std::string CheckWrites(const Plan& plan, const Missing& missing,
                          std::vector<BlockId> changed) const;
  std::string Compare(const Outcome& outcome,
                      const std::vector<naive::Block>& data) const;
  std::vector<BlockId> Stored(Width width) const;
  // Parity columns of a width, with indices from `first` up to `end`.
  std::vector<BlockId> Parity(Width width, int first, int end) const;
  std::vector<BlockId> RandomData();
  // As the model counts widths.
  int PlaceOf(Width width) const;

  std::string CheckPut(Width width, const Missing& missing) const;
  std::string CheckGet(Width width, const std::vector<BlockId>& wanted,
                       const Missing& missing) const;
  std::string CheckUpdate(Width width, const Missing& missing);
  std::string CheckRebuild(Width width, Missing missing) const;
  std::string CheckTransition(const FormChange& change,
                              TransitionVariant variant,
                              const Missing& missing) const;
  // From `from` with any m to every other form.
  std::string CheckTransitions(Width from, const Missing& missing) const;

  naive::Model model_;
  Geometry geometry_;
  std::mt19937& random_;
  std::vector<std::vector<int>> cells_;  // by column: the model's ids
  std::vector<naive::Block> data_;
};

}  // namespace ers::plan

#endif  // ERS_TESTS_UNIT_PLAN_COLUMN_CHECKER_H_
