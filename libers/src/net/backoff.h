// Backoff: how long to wait before the next try.
#ifndef ERS_NET_BACKOFF_H_
#define ERS_NET_BACKOFF_H_

#include <cstdint>

#include "net/runtime.h"

namespace ers::net {

// Doubles from try to try, up to a limit, and half of it is chance: processes
// that lost the same server do not come back in step. Thread-compatible.
class Backoff {
 public:
  Backoff(Duration first, Duration most) : first_(first), most_(most) {}

  // `random`: any number, another one each time.
  Duration Next(std::uint64_t random);
  // The next one is the first again.
  void Reset() { tries_ = 0; }

 private:
  const Duration first_;
  const Duration most_;
  int tries_ = 0;
};

}  // namespace ers::net

#endif  // ERS_NET_BACKOFF_H_
