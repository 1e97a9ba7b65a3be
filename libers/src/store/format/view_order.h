// Which of two views has all that the other one says, and what both say
// (docs/internals/view.md, A change of the view).
//
// A member only goes on: it is backfilled, is in sync, is down, and returns
// under a later incarnation. No flush is ever taken back. So of any two views
// there is a least one that has all of both.
#ifndef ERS_STORE_FORMAT_VIEW_ORDER_H_
#define ERS_STORE_FORMAT_VIEW_ORDER_H_

#include <cstdint>

#include "store/format/view.h"

namespace ers::store {

// Whatever their epochs are. Of views with the same slots. `now_us`: Unix us,
// and none of `view`'s flushes was asked for later.
bool Includes(const View& view, const View& other, std::int64_t now_us);

// `view`, with its epoch, and what `other` has beyond it.
View Merge(View view, const View& other, std::int64_t now_us);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_VIEW_ORDER_H_
