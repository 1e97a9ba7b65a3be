// What the next view is to be built upon, where members show several
// (docs/internals/view.md, A change of the view).
#ifndef ERS_STORE_FORMAT_VIEW_BASE_H_
#define ERS_STORE_FORMAT_VIEW_BASE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/format/view.h"

namespace ers::store {

// A view, and the members that show its record, with the boot marks of the
// memories that have it.
struct ShownView {
  View view;
  std::string text;
  std::map<int, std::string> shown;
};

struct Base {
  View view;
  // Texts of records that are no part of it, and whose place the next view may
  // take: more than f members have others that do not know of them, so they
  // never were in force, nor will be.
  std::set<std::string> never_in_force;
};

// All of `all` that may be in force, under an epoch above theirs and above
// `tried`; or one of them as it is, where that has all of the others and a
// later epoch than `tried`. `all`: of the same slots, not empty. `now_us`: Unix
// us. Where more than f members turn out to be not in sync, the caller is to
// refuse it.
Base ChooseBase(const std::vector<ShownView>& all, std::uint64_t tried,
                std::int64_t now_us);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_VIEW_BASE_H_
