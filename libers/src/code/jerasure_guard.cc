#include "code/jerasure_guard.h"

extern "C" {
#include <galois.h>

#include "base/mutex.h"
}

namespace ers::code {

Mutex& JerasureMutex() {
  static Mutex mutex;
  return mutex;
}

void InitJerasureField8() {
  static const bool made = [] {
    const MutexLock lock(JerasureMutex());
    // Unlike galois_init_default_field this leaves a field alone that another
    // user of Jerasure in this process has made before.
    galois_single_multiply(2, 2, 8);
    return true;
  }();
  static_cast<void>(made);
}

}  // namespace ers::code
