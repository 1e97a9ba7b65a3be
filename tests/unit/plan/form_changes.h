// All that a transition may do with a group.
#ifndef ERS_TESTS_UNIT_PLAN_FORM_CHANGES_H_
#define ERS_TESTS_UNIT_PLAN_FORM_CHANGES_H_

#include <fmt/format.h>

#include <string>
#include <vector>

#include "plan/planners.h"

namespace ers::plan {

// From each width of the scheme, and each m up to the geometry's, to each
// other.
inline std::vector<FormChange> AllChanges(const Geometry& geometry) {
  std::vector<Form> forms;
  for (const Width width : WidthsOf(geometry.scheme())) {
    for (int m = 1; m <= geometry.scheme().m; ++m) forms.push_back({width, m});
  }
  std::vector<FormChange> changes;
  for (const Form& from : forms) {
    for (const Form& to : forms) {
      if (from != to) changes.push_back({from, to});
    }
  }
  return changes;
}

// For messages.
inline std::string NameOf(const Scheme& scheme, const FormChange& change,
                          TransitionVariant variant) {
  return fmt::format("variant {} from m = {} to {}, m = {}",
                     static_cast<int>(variant), change.from.m,
                     WidthName(scheme, change.to.width), change.to.m);
}

}  // namespace ers::plan

#endif  // ERS_TESTS_UNIT_PLAN_FORM_CHANGES_H_
