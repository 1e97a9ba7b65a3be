// The parameter sets of the ERS paper's numerical study (section 6.1):
// 3 <= k' <= 14, 2 <= k < k', 1 <= m <= 4, m < k. There are 244.
#ifndef ERS_TESTS_UNIT_PLAN_PARAMETER_SETS_H_
#define ERS_TESTS_UNIT_PLAN_PARAMETER_SETS_H_

#include <vector>

struct ParameterSet {
  int k;
  int m;
  int kp;
};

inline std::vector<ParameterSet> ParameterSets() {
  std::vector<ParameterSet> sets;
  for (int kp = 3; kp <= 14; ++kp) {
    for (int k = 2; k < kp; ++k) {
      for (int m = 1; m <= 4 && m < k; ++m) sets.push_back({k, m, kp});
    }
  }
  return sets;
}

#endif  // ERS_TESTS_UNIT_PLAN_PARAMETER_SETS_H_
