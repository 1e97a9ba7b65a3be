// Streams over TCP and unix sockets on libevent.
#ifndef ERS_NET_SOCKET_STREAM_H_
#define ERS_NET_SOCKET_STREAM_H_

#include <memory>

#include "net/endpoint.h"
#include "net/event_loop.h"
#include "net/resolver.h"
#include "net/runtime.h"

struct event_base;

namespace ers::net {

// Starts connecting; see Runtime::Connect. A host name is resolved by
// `resolver`, and its addresses are tried one after the other, those last that
// did not connect before. All but `endpoint` outlive the stream.
std::unique_ptr<PacedStream> NewSocketStream(event_base* base, Runtime& runtime,
                                             Resolver& resolver,
                                             const Endpoint& endpoint,
                                             StreamHandler& handler);

// A loop whose host names are resolved by `resolver`, which outlives it.
std::unique_ptr<EventLoop> NewEventLoopWith(Resolver& resolver);

// See EventLoop::Adopt. `base` and `handler` outlive the stream.
std::unique_ptr<PacedStream> AdoptSocket(event_base* base, int socket,
                                         StreamHandler& handler);

}  // namespace ers::net

#endif  // ERS_NET_SOCKET_STREAM_H_
