// Jerasure and gf-complete keep one global field per word size and make it on
// first use without a lock. Everything that calls them goes through here.
#ifndef ERS_CODE_JERASURE_GUARD_H_
#define ERS_CODE_JERASURE_GUARD_H_

#include "base/mutex.h"

namespace ers::code {

// Held around every Jerasure call that may make or find a field.
Mutex& JerasureMutex();
// Makes the field of w = 8; afterwards its region operations only read it and
// need no lock. Any thread.
void InitJerasureField8();

}  // namespace ers::code

#endif  // ERS_CODE_JERASURE_GUARD_H_
