// Which of two views has all that the other one says, and what both say
// (docs/internals/view.md, A change of the view).
//
// A member only goes on: it is backfilled, is in sync, is down, and returns
// under a later incarnation. No flush is ever taken back. So of any two views
// that come of one first view there is a least one that has all of both.
#ifndef ERS_STORE_FORMAT_VIEW_ORDER_H_
#define ERS_STORE_FORMAT_VIEW_ORDER_H_

#include <cstdint>

#include "store/format/view.h"

namespace ers::store {

// May both come of one first view? Not where a member that never returned has
// two incarnations. Of views with the same slots.
bool SameOrigin(const View& a, const View& b);

// Whatever their epochs are; false where they are not of one origin. `now_us`:
// Unix us, and none of `view`'s flushes was asked for later.
bool Includes(const View& view, const View& other, std::int64_t now_us);

// `view`, with its epoch, and what `other`, of the same origin, has beyond it.
View Merge(View view, const View& other, std::int64_t now_us);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_VIEW_ORDER_H_
