// Streams over TCP and unix sockets on libevent.
#ifndef ERS_NET_SOCKET_STREAM_H_
#define ERS_NET_SOCKET_STREAM_H_

#include <memory>

#include "net/endpoint.h"
#include "net/event_loop.h"
#include "net/runtime.h"

struct event_base;

namespace ers::net {

// What everything that libevent calls owes its loop. Loop thread only.
class LoopHooks {
 public:
  // Called at the end of every callback: runs what was deferred in it.
  virtual void AfterCallback() = 0;

 protected:
  ~LoopHooks() = default;
};

// Starts connecting; see Runtime::Connect. A host name is resolved here (this
// blocks, except for numbers), and its addresses are tried one after the
// other. `base`, `loop` and `handler` outlive the stream.
std::unique_ptr<Stream> NewSocketStream(event_base* base, LoopHooks& loop,
                                        const Endpoint& endpoint,
                                        StreamHandler& handler);

// See EventLoop::Adopt. `base`, `loop` and `handler` outlive the stream.
std::unique_ptr<AcceptedStream> AdoptSocket(event_base* base, LoopHooks& loop,
                                            int socket, StreamHandler& handler);

}  // namespace ers::net

#endif  // ERS_NET_SOCKET_STREAM_H_
