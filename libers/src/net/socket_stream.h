// Streams over TCP and unix sockets on libevent.
#ifndef ERS_NET_SOCKET_STREAM_H_
#define ERS_NET_SOCKET_STREAM_H_

#include <memory>

#include "net/endpoint.h"
#include "net/event_loop.h"
#include "net/runtime.h"

struct event_base;

namespace ers::net {

// Starts connecting; see Runtime::Connect. A host name is resolved here (this
// blocks, except for numbers), and its addresses are tried one after the
// other. `base` and `handler` outlive the stream.
std::unique_ptr<Stream> NewSocketStream(event_base* base,
                                        const Endpoint& endpoint,
                                        StreamHandler& handler);

// See EventLoop::Adopt. `base` and `handler` outlive the stream.
std::unique_ptr<AcceptedStream> AdoptSocket(event_base* base, int socket,
                                            StreamHandler& handler);

}  // namespace ers::net

#endif  // ERS_NET_SOCKET_STREAM_H_
