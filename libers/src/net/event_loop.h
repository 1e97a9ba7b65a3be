// EventLoop: the Runtime of real life, on libevent and non-blocking sockets.
#ifndef ERS_NET_EVENT_LOOP_H_
#define ERS_NET_EVENT_LOOP_H_

#include <memory>

#include "net/runtime.h"

namespace ers::net {

// One per thread that runs it; Post is for any thread. Streams and timers must
// be destroyed before their loop. Not usable in a child after fork(2).
std::unique_ptr<Runtime> NewEventLoop();

}  // namespace ers::net

#endif  // ERS_NET_EVENT_LOOP_H_
