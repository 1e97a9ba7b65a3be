// Runs plans on bytes and holds the results against the naive model.
#ifndef ERS_TESTS_UNIT_PLAN_PLAN_CHECKER_H_
#define ERS_TESTS_UNIT_PLAN_PLAN_CHECKER_H_

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "plan/planners.h"
#include "unit/plan/naive_model.h"

namespace ers::plan {

Scheme SchemeOf(const naive::Parameters& parameters);

// Checks that every planner's plan is right for one scheme. Checks return what
// is wrong, or an empty string.
class PlanChecker {
 public:
  PlanChecker(const naive::Parameters& parameters, std::mt19937& random);

  const naive::Model& model() const { return model_; }
  const Geometry& geometry() const { return geometry_; }
  std::vector<Width> widths() const { return WidthsOf(geometry_.scheme()); }

  // The library's ids, nodes and stripes against the model's.
  std::string CheckLayout() const;
  // Every planner, with up to m nodes dead.
  std::string CheckAll(const Missing& missing);
  // A plan is owed wherever every stripe has k blocks, and where there is no
  // node to write to.
  std::string CheckTransition(const FormChange& change,
                              TransitionVariant variant,
                              const Missing& missing) const;
  // From `from` with any m to every other form: all of small groups, of larger
  // ones all where m stays as it is, and some of the others.
  std::string CheckTransitions(Width from, const Missing& missing) const;
  std::string CheckPut(Width width, const Missing& missing) const;
  std::string CheckGet(Width width, const std::vector<BlockId>& wanted,
                       const Missing& missing) const;
  std::string CheckUpdate(Width width, const std::vector<BlockId>& touched,
                          const std::vector<BlockId>& keep,
                          const Missing& missing);
  std::string CheckRebuild(Width width, const std::vector<BlockId>& lost,
                           const Missing& missing) const;

  // Random choices for one of the above; `missing.dead_nodes` unchanged.
  std::vector<BlockId> RandomData();
  // Up to m blocks of each stripe of `width`, on live nodes too.
  Missing RandomMissing(Width width);

 private:
  struct Outcome {
    std::string error;
    std::map<BlockId, naive::Block> outputs;
    std::map<BlockId, bool> from_reads_alone;
  };
  // `stripe_limit`: also demand at most k reads per stripe.
  Outcome Run(const Plan& plan, Width stored, const Missing& missing,
              const std::map<BlockId, naive::Block>& given,
              bool stripe_limit) const;
  // plan.writes and plan.unwritten are `changed`, split by dead nodes, and the
  // steps make what of the written is not given.
  std::string CheckWrites(const Plan& plan, const Missing& missing,
                          std::vector<BlockId> changed) const;
  std::string Compare(const Outcome& outcome, Width width,
                      const std::vector<naive::Block>& new_data) const;
  std::vector<naive::Block> OldData() const;
  // Parity of a width, with indices from `first` up to `end`; ascending.
  std::vector<BlockId> Parity(Width width, int first, int end) const;
  // Has every stripe of `width` k blocks that are there?
  bool EachHasEnough(Width width, const Missing& missing) const;
  // As the model counts widths.
  int PlaceOf(Width width) const;

  naive::Model model_;
  Geometry geometry_;
  std::mt19937& random_;
};

}  // namespace ers::plan

#endif  // ERS_TESTS_UNIT_PLAN_PLAN_CHECKER_H_
