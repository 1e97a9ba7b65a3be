#include "base/recycled.h"

namespace ers::recycled_internal {

#if !defined(ERS_NOT_RECYCLED)

namespace {

struct AtEnd {
  AtEnd() = default;
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() {
    of_thread.over = true;
    for (OfSize& size : of_thread.sizes) {
      while (Spare* const spare = size.first) {
        size.first = spare->next;
        ::operator delete(spare);
      }
    }
  }
};

}  // namespace

void Open() {
  thread_local const AtEnd at_end;
  (void)&at_end;
  of_thread.open = true;
}

#endif

}  // namespace ers::recycled_internal
