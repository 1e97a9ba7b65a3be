// EventLoop: the Runtime of real life, on libevent and non-blocking sockets.
#ifndef ERS_NET_EVENT_LOOP_H_
#define ERS_NET_EVENT_LOOP_H_

#include <functional>
#include <memory>

#include "net/runtime.h"
#include "net/tunnel_stream.h"

namespace ers::net {

// A Stream that is read when its handler wants to.
class PacedStream : public Stream {
 public:
  // Whether OnReadable is called; at first it is. A handler that does not want
  // to read does not learn of the peer's leaving either.
  virtual void WantRead(bool want) = 0;
  // Bytes that ReadV would give now, as far as is known.
  virtual std::size_t Unread() const = 0;
  // The peer is to see the end of the stream behind what was written.
  virtual void EndWriting() = 0;
};

// Ends the watching when destroyed.
class Watch {
 public:
  virtual ~Watch() = default;
};

// What a server needs beyond a Runtime. One per thread that runs it; Post is
// for any thread. Streams, timers and watches must be destroyed before their
// loop. Not usable in a child after fork(2).
class EventLoop : public Runtime {
 public:
  // Takes over a connected socket (and closes it with the stream); TCP_NODELAY
  // where it is TCP. `handler` outlives the stream, and hears of no
  // OnConnected.
  virtual std::unique_ptr<PacedStream> Adopt(int socket,
                                             StreamHandler& handler) = 0;
  // As Connect.
  virtual std::unique_ptr<PacedStream> ConnectPaced(const Endpoint& endpoint,
                                                    StreamHandler& handler) = 0;
  // Calls `ready` as long as `descriptor`, which stays the caller's, can be
  // read. `ready` may not end its own watch.
  virtual std::unique_ptr<Watch> WatchReadable(int descriptor,
                                               std::function<void()> ready) = 0;
};

std::unique_ptr<EventLoop> NewEventLoop();
// One whose connections (Connect) are made through a proxy.
std::unique_ptr<EventLoop> NewEventLoop(HttpProxy through);

}  // namespace ers::net

#endif  // ERS_NET_EVENT_LOOP_H_
