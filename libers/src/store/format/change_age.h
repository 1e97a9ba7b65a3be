// How old a change may get.
#ifndef ERS_STORE_FORMAT_CHANGE_AGE_H_
#define ERS_STORE_FORMAT_CHANGE_AGE_H_

#include <chrono>

#include "net/runtime.h"

namespace ers::store {

// A change that has not begun its commit this long after it began is given up;
// what is collected as garbage is at least twice as old.
inline constexpr net::Duration kChangeTimeout = std::chrono::hours(1);

#if defined(ERS_PLANTED_BUGS)
extern net::Duration change_timeout;  // a simulated run does not last for hours
inline net::Duration ChangeTimeout() { return change_timeout; }
#else
constexpr net::Duration ChangeTimeout() { return kChangeTimeout; }
#endif

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_CHANGE_AGE_H_
